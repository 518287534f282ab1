"""What runs inside an enclosure before the command does."""
