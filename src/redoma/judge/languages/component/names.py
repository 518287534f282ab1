"""Names in a component: builtins that are harmless, and names that lead out of it."""

from __future__ import annotations

SAFE_BUILTINS = frozenset(
    """
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError
    BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError
    ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError
    Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup False FileExistsError
    FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError
    ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
    KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None
    NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError
    SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError UnboundLocalError
    UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning
    UserWarning ValueError Warning ZeroDivisionError
    abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict
    divmod enumerate filter float format frozenset hash hex id int isinstance issubclass iter len
    list map max min next object oct ord pow print property range repr reversed round set slice
    sorted staticmethod str sum super tuple zip
    """.split()
)

FORBIDDEN_NAMES = {
    "eval": "runs text as code",
    "exec": "runs text as code",
    "execfile": "runs a file as code",
    "compile": "makes code from text",
    "__import__": "imports whatever it is told",
    "open": "opens files",
    "file": "opens files",
    "input": "waits for someone to type",
    "raw_input": "waits for someone to type",
    "breakpoint": "starts a debugger",
    "help": "starts a pager",
    "exit": "reaches the interpreter",
    "quit": "reaches the interpreter",
    "license": "reads files",
    "credits": "reads files",
    "copyright": "reads files",
    "globals": "reaches every name, by text",
    "locals": "reaches every name, by text",
    "vars": "reaches every attribute, by text",
    "dir": "lists what lies behind an object",
    "memoryview": "reaches memory behind an object",
    "__builtins__": "has eval, exec and open",
    "__loader__": "reads and imports modules",
    "__spec__": "reaches the import system",
    "__build_class__": "makes classes from code",
}
REFLECTING = {"getattr": (2, 3), "hasattr": (2, 2), "setattr": (3, 3), "delattr": (2, 2)}
"""They take the name of an attribute as text: fine where it is written out, and called at once."""

READABLE_NAMES = frozenset(("__name__", "__doc__", "__debug__"))
BOUND_NAMES = frozenset(("__all__", "__author__", "__doc__", "__slots__", "__version__"))
DESCRIBING = frozenset(("__name__", "__qualname__", "__doc__"))
"""Attributes that only describe: texts, whatever they are read from."""

METHODS = frozenset(
    f"__{name}__"
    for name in """
    abs add aenter aexit aiter and anext await bool bytes call ceil complex contains copy deepcopy
    delitem divmod enter eq exit float floor floordiv format ge getitem gt hash iadd iand ifloordiv
    ilshift imatmul imod imul index init int invert ior ipow irshift isub iter itruediv ixor le len
    length_hint lshift lt matmul missing mod mul ne neg next or pos post_init pow radd rand rdivmod
    repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv
    rxor setitem str sub truediv trunc xor
    """.split()
)
"""What a class may define. Not `__getattr__`, `__reduce__`, `__instancecheck__`, `__del__` and
their like: they run where nobody sees a call."""

INTERNALS = frozenset(
    """
    ag_await ag_code ag_frame ag_running co_code co_consts co_names cr_await cr_code cr_frame
    cr_origin f_back f_builtins f_code f_generator f_globals f_lasti f_lineno f_locals f_trace
    func_closure func_code func_defaults func_dict func_globals gi_code gi_frame gi_yieldfrom
    im_class im_func im_self mro tb_frame tb_lasti tb_next
    """.split()
)
"""Frames, code and tracebacks: from each of them it is one step to every builtin."""

SUNDER_NAMES = frozenset(("_generate_next_value_", "_missing_", "_name_", "_order_", "_value_"))
"""Names that an enumeration may use. Attack: `E._member_names_.clear()` lets it make others."""


def leads_inside(name: str) -> bool:
    """Whether the name is one of the interpreter's own parts, or of an enumeration's."""
    return name in INTERNALS or (_is_sunder(name) and name not in SUNDER_NAMES)


def _is_sunder(name: str) -> bool:
    return len(name) > 2 and name[0] == name[-1] == "_" and not is_dunder(name)


def is_private(name: str) -> bool:
    """Whether a class makes another name of it: `__x` in `class A` is `_A__x`."""
    return name.startswith("__") and not name.endswith("__")


def is_dunder(name: str) -> bool:
    """Whether it is one of Python's own names, as `__class__`."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")
