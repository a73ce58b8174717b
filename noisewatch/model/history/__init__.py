"""What one machine was, and how fast and how noisy, from one entry of its history to the next: pure."""
