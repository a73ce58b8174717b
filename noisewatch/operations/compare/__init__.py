"""What two files say of machines: read, recognized by what they hold, and made comparable."""
