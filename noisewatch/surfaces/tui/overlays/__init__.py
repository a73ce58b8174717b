"""What is shown above the screens while the machine is measured."""
