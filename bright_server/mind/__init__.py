"""What the application above Bright is shown of what was committed."""
