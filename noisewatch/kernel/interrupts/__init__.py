"""Interrupts and softirqs: counts by CPU, where each may go, and the devices behind them."""
