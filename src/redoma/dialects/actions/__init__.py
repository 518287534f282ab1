"""The actions of a sandbox skill: `sandbox.execute`, `sandbox.check` and `sandbox.confirm`."""

from collections.abc import Mapping

from redoma.dialects.actions.action_sandbox import ActionSandbox, Confirm
from redoma.dialects.actions.fields import ERRORS, BadAction, Refusal

__all__ = ["ERRORS", "ActionSandbox", "BadAction", "Confirm", "Refusal", "handle", "perform"]


def perform(action: str, parameters: Mapping[str, object] | str) -> dict[str, object]:
    """Performs one action in this directory, where nobody is there to be asked."""
    return ActionSandbox().perform(action, parameters)


def handle(request: Mapping[str, object] | str) -> dict[str, object]:
    """Performs a whole request, `action` and `params`, in this directory."""
    return ActionSandbox().handle(request)
