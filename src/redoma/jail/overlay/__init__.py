"""What a command writes, held apart from its workspace: layers, what is in them, applying them."""
