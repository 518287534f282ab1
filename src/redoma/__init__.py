"""A guard between an AI agent and the machine: it understands a command, judges it, says why.

Public names load when they are first used, so that an entry point pays only for what it touches.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.i18n import in_language as in_language
    from redoma.jail.cells.cell import Cell as Cell
    from redoma.jail.cells.cell_process import CellProcess as CellProcess
    from redoma.jail.supervisor.start import Control as Control
    from redoma.judge.languages.component.validate import validate_component as validate_component
    from redoma.model.call import Call as Call
    from redoma.model.call import CallFailed as CallFailed
    from redoma.model.call import NotReturnable as NotReturnable
    from redoma.model.call import NotSendable as NotSendable
    from redoma.model.call import SandboxTimeout as SandboxTimeout
    from redoma.model.call import SandboxViolation as SandboxViolation
    from redoma.model.cell import CellError as CellError
    from redoma.model.cell import CellResult as CellResult
    from redoma.model.change import Applied as Applied
    from redoma.model.change import Change as Change
    from redoma.model.change import Changes as Changes
    from redoma.model.change import Undone as Undone
    from redoma.model.component import Problem as Problem
    from redoma.model.component import Validation as Validation
    from redoma.model.confirmation import confirmation_request as confirmation_request
    from redoma.model.confirmation import confirmation_response as confirmation_response
    from redoma.model.container import ContainerConfig as ContainerConfig
    from redoma.model.container import ContainerError as ContainerError
    from redoma.model.container import ContainerInfo as ContainerInfo
    from redoma.model.container import ImageMissing as ImageMissing
    from redoma.model.decision import Assessment as Assessment
    from redoma.model.decision import Decision as Decision
    from redoma.model.decision import Effect as Effect
    from redoma.model.decision import Fact as Fact
    from redoma.model.decision import Finding as Finding
    from redoma.model.decision import Risk as Risk
    from redoma.model.decision import Verdict as Verdict
    from redoma.model.errors import Declined as Declined
    from redoma.model.errors import EngineFailed as EngineFailed
    from redoma.model.errors import NoEngine as NoEngine
    from redoma.model.errors import RedomaError as RedomaError
    from redoma.model.errors import UsageError as UsageError
    from redoma.model.grant import Limits as Limits
    from redoma.model.policy import Circumstances as Circumstances
    from redoma.model.policy import Policy as Policy
    from redoma.model.request import Answer as Answer
    from redoma.model.request import Choice as Choice
    from redoma.model.request import Question as Question
    from redoma.model.result import Outcome as Outcome
    from redoma.model.result import Result as Result
    from redoma.model.value import replace as replace
    from redoma.pipeline.async_sandbox import AsyncSandbox as AsyncSandbox
    from redoma.pipeline.container_service import AsyncContainerService as AsyncContainerService
    from redoma.pipeline.container_service import ContainerService as ContainerService
    from redoma.pipeline.decisions.check import check as check
    from redoma.pipeline.decisions.check import facts as facts
    from redoma.pipeline.decisions.knowledge import rules as rules
    from redoma.pipeline.decisions.policies import load_policy as load_policy
    from redoma.pipeline.decisions.policies import shipped_policy as shipped_policy
    from redoma.pipeline.logins import access_token as access_token
    from redoma.pipeline.path import Confirmed as Confirmed
    from redoma.pipeline.plans.execution import Plan as Plan
    from redoma.pipeline.plans.execution import PlanResult as PlanResult
    from redoma.pipeline.plans.judged_steps import PlanCheck as PlanCheck
    from redoma.pipeline.plans.rehearsal import PlanPreview as PlanPreview
    from redoma.pipeline.preview import Preview as Preview
    from redoma.pipeline.requests import Caller as Caller
    from redoma.pipeline.sandbox import Sandbox as Sandbox
    from redoma.pipeline.secrets import SecretSanitizer as SecretSanitizer
    from redoma.pipeline.settings import NO_LIMIT as NO_LIMIT
    from redoma.pipeline.settings import Access as Access
    from redoma.pipeline.settings import Network as Network
    from redoma.pipeline.settings import PolicyChoice as PolicyChoice

__version__ = "0.1.0"
__all__ = [
    "NO_LIMIT",
    "Access",
    "Answer",
    "Applied",
    "Assessment",
    "AsyncContainerService",
    "AsyncSandbox",
    "Call",
    "CallFailed",
    "Caller",
    "Cell",
    "CellError",
    "CellProcess",
    "CellResult",
    "Change",
    "Changes",
    "Choice",
    "Circumstances",
    "Confirmed",
    "ContainerConfig",
    "ContainerError",
    "ContainerInfo",
    "ContainerService",
    "Control",
    "Decision",
    "Declined",
    "Effect",
    "EngineFailed",
    "Fact",
    "Finding",
    "ImageMissing",
    "Limits",
    "Network",
    "NoEngine",
    "NotReturnable",
    "NotSendable",
    "Outcome",
    "Plan",
    "PlanCheck",
    "PlanPreview",
    "PlanResult",
    "Policy",
    "PolicyChoice",
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
    "Undone",
    "UsageError",
    "Validation",
    "Verdict",
    "__version__",
    "access_token",
    "check",
    "confirmation_request",
    "confirmation_response",
    "facts",
    "in_language",
    "load_policy",
    "replace",
    "rules",
    "shipped_policy",
    "validate_component",
]

_HOMES = {
    "Access": "redoma.pipeline.settings",
    "Answer": "redoma.model.request",
    "Applied": "redoma.model.change",
    "Assessment": "redoma.model.decision",
    "AsyncContainerService": "redoma.pipeline.container_service",
    "AsyncSandbox": "redoma.pipeline.async_sandbox",
    "Call": "redoma.model.call",
    "CallFailed": "redoma.model.call",
    "Caller": "redoma.pipeline.requests",
    "Cell": "redoma.jail.cells.cell",
    "CellError": "redoma.model.cell",
    "CellProcess": "redoma.jail.cells.cell_process",
    "CellResult": "redoma.model.cell",
    "Change": "redoma.model.change",
    "Changes": "redoma.model.change",
    "Choice": "redoma.model.request",
    "Circumstances": "redoma.model.policy",
    "Confirmed": "redoma.pipeline.path",
    "ContainerConfig": "redoma.model.container",
    "ContainerError": "redoma.model.container",
    "ContainerInfo": "redoma.model.container",
    "ContainerService": "redoma.pipeline.container_service",
    "Control": "redoma.jail.supervisor.start",
    "Decision": "redoma.model.decision",
    "Declined": "redoma.model.errors",
    "Effect": "redoma.model.decision",
    "EngineFailed": "redoma.model.errors",
    "Fact": "redoma.model.decision",
    "Finding": "redoma.model.decision",
    "ImageMissing": "redoma.model.container",
    "Limits": "redoma.model.grant",
    "NO_LIMIT": "redoma.pipeline.settings",
    "Network": "redoma.pipeline.settings",
    "NoEngine": "redoma.model.errors",
    "NotReturnable": "redoma.model.call",
    "NotSendable": "redoma.model.call",
    "Outcome": "redoma.model.result",
    "Plan": "redoma.pipeline.plans.execution",
    "PlanCheck": "redoma.pipeline.plans.judged_steps",
    "PlanPreview": "redoma.pipeline.plans.rehearsal",
    "PlanResult": "redoma.pipeline.plans.execution",
    "Policy": "redoma.model.policy",
    "PolicyChoice": "redoma.pipeline.settings",
    "Preview": "redoma.pipeline.preview",
    "Problem": "redoma.model.component",
    "Question": "redoma.model.request",
    "RedomaError": "redoma.model.errors",
    "Result": "redoma.model.result",
    "Risk": "redoma.model.decision",
    "Sandbox": "redoma.pipeline.sandbox",
    "SandboxTimeout": "redoma.model.call",
    "SandboxViolation": "redoma.model.call",
    "SecretSanitizer": "redoma.pipeline.secrets",
    "Undone": "redoma.model.change",
    "UsageError": "redoma.model.errors",
    "Validation": "redoma.model.component",
    "Verdict": "redoma.model.decision",
    "access_token": "redoma.pipeline.logins",
    "check": "redoma.pipeline.decisions.check",
    "confirmation_request": "redoma.model.confirmation",
    "confirmation_response": "redoma.model.confirmation",
    "facts": "redoma.pipeline.decisions.check",
    "in_language": "redoma.i18n",
    "load_policy": "redoma.pipeline.decisions.policies",
    "replace": "redoma.model.value",
    "rules": "redoma.pipeline.decisions.knowledge",
    "shipped_policy": "redoma.pipeline.decisions.policies",
    "validate_component": "redoma.judge.languages.component.validate",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'redoma' has no attribute {name!r}")
    found = globals()[name] = getattr(__import__(home, fromlist=[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
