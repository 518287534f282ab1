"""What a preview cannot show by running: calls to other machines, foreseen kind by kind."""
