"""Cells: sandboxes that stay while several commands run in them."""
