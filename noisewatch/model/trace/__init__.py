"""What a trace shows: interruptions, and the culprits behind them."""
