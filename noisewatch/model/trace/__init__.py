"""The results of a trace: interruptions, and the culprits behind them."""
