"""A guard between an AI agent and the machine: it understands a command, judges it, says why.

Public names load when they are first used, so that a door pays only for what it touches.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.i18n import in_language as in_language
    from redoma.model.call import Call as Call
    from redoma.model.call_errors import CallFailed as CallFailed
    from redoma.model.call_errors import NotReturnable as NotReturnable
    from redoma.model.call_errors import NotSendable as NotSendable
    from redoma.model.call_errors import SandboxTimeout as SandboxTimeout
    from redoma.model.call_errors import SandboxViolation as SandboxViolation
    from redoma.model.component import Problem as Problem
    from redoma.model.component import Validation as Validation
    from redoma.model.confirmation import confirmation_request as confirmation_request
    from redoma.model.confirmation import confirmation_response as confirmation_response
    from redoma.model.decision import Decision as Decision
    from redoma.model.decision import Verdict as Verdict
    from redoma.model.errors import EngineFailed as EngineFailed
    from redoma.model.errors import NoEngine as NoEngine
    from redoma.model.errors import RedomaError as RedomaError
    from redoma.model.question import Answer as Answer
    from redoma.model.question import Choice as Choice
    from redoma.model.question import Question as Question
    from redoma.model.result import Outcome as Outcome
    from redoma.model.result import Result as Result
    from redoma.model.risk import Assessment as Assessment
    from redoma.model.risk import Effect as Effect
    from redoma.model.risk import Fact as Fact
    from redoma.model.risk import Finding as Finding
    from redoma.model.risk import Risk as Risk
    from redoma.pipeline.async_sandbox import AsyncSandbox as AsyncSandbox
    from redoma.pipeline.check import check as check
    from redoma.pipeline.check import facts as facts
    from redoma.pipeline.components import validate_component as validate_component
    from redoma.pipeline.knowledge import rules as rules
    from redoma.pipeline.plans.plan import Plan as Plan
    from redoma.pipeline.preview import Preview as Preview
    from redoma.pipeline.redaction import SecretSanitizer as SecretSanitizer
    from redoma.pipeline.sandbox import Sandbox as Sandbox

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Assessment",
    "AsyncSandbox",
    "Call",
    "CallFailed",
    "Choice",
    "Decision",
    "Effect",
    "EngineFailed",
    "Fact",
    "Finding",
    "NoEngine",
    "NotReturnable",
    "NotSendable",
    "Outcome",
    "Plan",
    "Preview",
    "Problem",
    "Question",
    "RedomaError",
    "Result",
    "Risk",
    "Sandbox",
    "SandboxTimeout",
    "SandboxViolation",
    "SecretSanitizer",
    "Validation",
    "Verdict",
    "__version__",
    "check",
    "confirmation_request",
    "confirmation_response",
    "facts",
    "in_language",
    "rules",
    "validate_component",
]

_HOMES = {
    "Answer": "redoma.model.question",
    "Assessment": "redoma.model.risk",
    "AsyncSandbox": "redoma.pipeline.async_sandbox",
    "Call": "redoma.model.call",
    "CallFailed": "redoma.model.call_errors",
    "Choice": "redoma.model.question",
    "Decision": "redoma.model.decision",
    "Effect": "redoma.model.risk",
    "EngineFailed": "redoma.model.errors",
    "Fact": "redoma.model.risk",
    "Finding": "redoma.model.risk",
    "NoEngine": "redoma.model.errors",
    "NotReturnable": "redoma.model.call_errors",
    "NotSendable": "redoma.model.call_errors",
    "Outcome": "redoma.model.result",
    "Plan": "redoma.pipeline.plans.plan",
    "Preview": "redoma.pipeline.preview",
    "Problem": "redoma.model.component",
    "Question": "redoma.model.question",
    "RedomaError": "redoma.model.errors",
    "Result": "redoma.model.result",
    "Risk": "redoma.model.risk",
    "Sandbox": "redoma.pipeline.sandbox",
    "SandboxTimeout": "redoma.model.call_errors",
    "SandboxViolation": "redoma.model.call_errors",
    "SecretSanitizer": "redoma.pipeline.redaction",
    "Validation": "redoma.model.component",
    "Verdict": "redoma.model.decision",
    "check": "redoma.pipeline.check",
    "confirmation_request": "redoma.model.confirmation",
    "confirmation_response": "redoma.model.confirmation",
    "facts": "redoma.pipeline.check",
    "in_language": "redoma.i18n",
    "rules": "redoma.pipeline.knowledge",
    "validate_component": "redoma.pipeline.components",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'redoma' has no attribute {name!r}")
    found = globals()[name] = getattr(__import__(home, fromlist=[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
