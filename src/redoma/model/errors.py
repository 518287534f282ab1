"""Everything that can keep Redoma from its work; a refused command is a value, none of these.

::

    RedomaError
    ├── UsageError        UnknownPack · PlanSyntax · PlanCycle · WrongType · WrongValue
    ├── PolicyError       PolicySyntax · UnknownKey · Loosens
    ├── Refused           Denied · Declined · ConfirmationNeeded · ConfirmationExpired · RateLimited
    │                     SandboxViolation · CommandRefused
    ├── AskUnavailable
    ├── IsolationError    NoEngine · EngineFailed · GuaranteeLost · ContainerError
    │                     ContainerGone · ImageMissing · CellError · NoSuchUser · NoNode
    ├── RunError          TimedOut · LimitReached · OutputTooLarge · SandboxTimeout · CallFailed
    │                     NotReturnable · Fenced · ItemFailed
    ├── ChangeError       ApplyConflict · PreviewGone · UndoImpossible · NoRoomForUndo
    ├── NotSendable
    ├── PlanError         NothingToResume · PlanChanged · EndUnknown
    ├── RecordError       ChainBroken · RecordUnavailable
    ├── StateUnavailable
    ├── SessionError      NoSuchSession · NotAdmitted · CodeRefused · TooManyAttempts · BadFrame
    │                     BearerMissing
    ├── ClusterError · ShipmentBroken
    ├── CatalogueError
    ├── Withheld
    ├── LoginError        InsecureProvider · AnswerMismatch · ProviderRefused · LoginTimedOut
    │                     NotLoggedIn
    └── VaultError        WrongKey · WrongPassphrase · SecretChanged · VaultDowngraded · NoKeychain
                          UnknownToken

Each says what happened (`str(error)`), what kind of thing it is (`code`, stable), and what to do
next (`hint`, often a command to type). `exit_status` belongs to the class: 2 for a request that
cannot be understood, 124 for time, 126 for a refusal, 125 where Redoma could not do its work.
"""

from __future__ import annotations

from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import ClassVar, Self

    from redoma.model.decision import Decision
    from redoma.model.remedies import Interface, Remedy


class RedomaError(Exception):
    """Redoma could not do its work."""

    __module__ = "redoma"

    code: ClassVar[str] = "redoma"
    exit_status: ClassVar[int] = 125

    def __init__(self, message: str, /, *, hint: str | Remedy = "", **values: object) -> None:
        """`values` fill the holes of the message, and `hint` says what to do next.

        A hint is a text as it is, or a remedy that each interface says in its own words.
        """
        super().__init__(Message(message, **values))
        self.remedy = None if isinstance(hint, str) else hint
        self.hint: str = hint if isinstance(hint, str) else hint.said()

    def speak(self, by: Interface) -> Self:
        """The same error, whose hint is in the words of an interface."""
        if self.remedy is not None:
            self.hint = self.remedy.said(by)
        return self

    def details(self) -> dict[str, object]:
        """The facts of this error that have a name, ready for JSON."""
        return {}

    def as_dict(self) -> dict[str, object]:
        """The error as one JSON object: `code`, `message`, `hint` and its named facts."""
        return {"code": self.code, "message": str(self), "hint": self.hint, **self.details()}


class UsageError(RedomaError):
    """The request itself cannot be understood."""

    __module__ = "redoma"

    code = "usage"
    exit_status = 2


class UnknownPack(UsageError):
    """No rule pack has this name."""

    code = "unknown-pack"

    def __init__(self, pack: str, known: Iterable[str]) -> None:
        self.pack = pack
        self.known = tuple(known)
        super().__init__(
            Message("there is no rule pack {pack}", pack=repr(pack)),
            hint=Message("packs: {known}", known=", ".join(self.known)),
        )

    def details(self) -> dict[str, object]:
        return {"pack": self.pack, "known": list(self.known)}


class PolicyError(RedomaError):
    """A policy or a rule pack cannot be used, so nothing is judged by it."""

    code = "policy"


class PolicySyntax(PolicyError):
    """A policy file cannot be read at `location` (`file:line:column`)."""

    code = "policy-syntax"

    def __init__(self, message: str, *, location: str, hint: str | Remedy = "") -> None:
        self.location = location
        super().__init__("{location}: {what}", location=location, what=Message(message), hint=hint)

    def details(self) -> dict[str, object]:
        return {"location": self.location}


class UnknownKey(PolicySyntax):
    """A policy file has a key that has no meaning, so its writer expects what will not happen."""

    code = "policy-unknown-key"


class Refused(RedomaError):
    """What was asked for may not happen."""

    code = "refused"
    exit_status = 126


class Denied(Refused):
    """Policy says no."""

    code = "denied"

    def __init__(self, decision: Decision, *, hint: str | Remedy = "") -> None:
        self.decision = decision
        super().__init__(Message.joined("; ", decision.because) or "denied by policy", hint=hint)

    def details(self) -> dict[str, object]:
        return {"because": list(self.decision.because), "policy": self.decision.policy}


class Declined(Refused):
    """Whoever was asked said no, or said nothing in time."""

    __module__ = "redoma"

    code = "declined"


class ConfirmationNeeded(Refused):
    """Someone has to be asked first; `question` names what to answer."""

    code = "confirmation-needed"

    def __init__(self, message: str, *, question: str, hint: str | Remedy = "") -> None:
        self.question = question
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"question": self.question}


class ConfirmationExpired(Refused):
    """An answer came for a question that is over, or for another request than the one asked."""

    code = "confirmation-expired"


class RateLimited(Refused):
    """As much has run as may run for now; `retry_after` seconds from now there is room again."""

    code = "rate-limited"

    def __init__(self, message: str, *, retry_after: float, hint: str | Remedy = "") -> None:
        self.retry_after = retry_after
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"retry_after": self.retry_after}


class AskUnavailable(RedomaError):
    """Questions or remembered approvals cannot be kept, or cannot be trusted as they are kept."""

    code = "ask-unavailable"


class IsolationError(RedomaError):
    """What policy requires cannot be enforced here, so nothing runs."""

    code = "isolation"


class NoEngine(IsolationError):
    """No engine of this machine gives every guarantee in `required`; `tried` says why not, each."""

    __module__ = "redoma"

    code = "no-engine"

    def __init__(
        self, *, required: Iterable[str], tried: Mapping[str, str], hint: str = "redoma doctor"
    ) -> None:
        self.required = tuple(required)
        self.tried = dict(tried)
        wanted = Message.joined(", ", self.required) or Message("anything")
        reasons = [
            Message("\n  {engine}: {why}", engine=engine, why=Message(why))
            for engine, why in self.tried.items()
        ]
        super().__init__(
            "no engine here can enforce {wanted}{tried}",
            wanted=wanted,
            tried=Message.joined("", reasons),
            hint=hint,
        )

    def details(self) -> dict[str, object]:
        return {"required": list(self.required), "tried": self.tried}


class EngineFailed(IsolationError):
    """An engine that was chosen could not set up its sandbox."""

    __module__ = "redoma"

    code = "engine-failed"


class GuaranteeLost(IsolationError):
    """Something promised at the start no longer held while the command ran."""

    code = "guarantee-lost"


class RunError(RedomaError):
    """A command was ended from outside."""

    code = "run"


class TimedOut(RunError):
    """The command ran longer than it may, and its whole tree was ended."""

    code = "timed-out"
    exit_status = 124


class LimitReached(RunError):
    """The command used more of something than it may."""

    code = "limit-reached"


class OutputTooLarge(RunError):
    """The command wrote more than is kept."""

    code = "output-too-large"


class ChangeError(RedomaError):
    """Held changes could not be applied or taken back."""

    code = "change"


class ApplyConflict(ChangeError):
    """`paths` are no longer as they were when the change was recorded; nothing was applied."""

    code = "apply-conflict"

    def __init__(self, message: str, *, paths: Iterable[str], hint: str | Remedy = "") -> None:
        self.paths = tuple(paths)
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"paths": list(self.paths)}


class PreviewGone(ChangeError):
    """The preview was discarded, applied or has expired."""

    code = "preview-gone"


class UndoImpossible(ChangeError):
    """What would be taken back has changed since (`paths`), or is not known any more."""

    code = "undo-impossible"

    def __init__(self, message: str, *, paths: Iterable[str] = (), hint: str | Remedy = "") -> None:
        self.paths = tuple(paths)
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"paths": list(self.paths)}


class NoRoomForUndo(ChangeError):
    """What an apply replaces cannot be kept to undo it; nothing was applied."""

    code = "no-room-for-undo"


class RecordError(RedomaError):
    """The audit log cannot be trusted or written; no audit log, no run."""

    code = "record"


class ChainBroken(RecordError):
    """The audit log was changed at or before `entry`."""

    code = "chain-broken"

    def __init__(self, message: str, *, entry: int, hint: str | Remedy = "") -> None:
        self.entry = entry
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, object]:
        return {"entry": self.entry}


class RecordUnavailable(RecordError):
    """The audit log cannot be opened or written."""

    code = "record-unavailable"


class CatalogueError(RedomaError):
    """A catalogue of messages is not a `.po` file."""

    code = "catalogue"


class StateUnavailable(RedomaError):
    """The directory in which Redoma keeps its state cannot be used, or trusted."""

    code = "state-unavailable"


class VaultError(RedomaError):
    """A secret cannot be kept or given back."""

    code = "vault"


class WrongKey(VaultError):
    """What is stored was written with another key, or was changed."""

    code = "wrong-key"


class WrongPassphrase(WrongKey):
    """The passphrase opens no key of the vault."""

    code = "wrong-passphrase"


class SecretChanged(WrongKey):
    """A secret is not what was sealed under its name, although the vault's key is the right one."""

    code = "secret-changed"


class VaultDowngraded(VaultError):
    """The vault has an older or weaker form than the one that it was given last."""

    code = "vault-downgraded"


class NoKeychain(VaultError):
    """There is no keychain, or none that is known to encrypt what it keeps."""

    code = "no-keychain"


class UnknownToken(VaultError):
    """Nothing is stored under this name."""

    code = "unknown-token"
