"""What several reports are made of."""
