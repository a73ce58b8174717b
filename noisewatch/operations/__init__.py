"""What takes time and touches a machine on purpose: functions of frozen options and a progress listener."""
