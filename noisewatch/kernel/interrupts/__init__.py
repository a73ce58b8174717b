"""Interrupts and softirqs: counts by CPU, where each may be delivered, and the devices behind them."""
