"""Operations that take time and act on a machine: functions of frozen options and a progress listener."""
