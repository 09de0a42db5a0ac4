"""The distributed store: any number of Bright servers on one PostgreSQL."""
