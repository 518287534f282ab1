"""An abstract interpreter: walks a script as a shell would and notes what each command does."""
