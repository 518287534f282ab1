"""What the terminal sandbox says, in Portuguese as its users know it and in English.

The Portuguese is written without accents, since programs compare it letter by letter.
"""

from __future__ import annotations

from redoma import Effect, Finding, Risk, rules
from redoma.dialects.terminal.levels import CommandRisk

LANGUAGES = ("pt", "en")
MARK = "[SANDBOX]"

_LEVELS = {
    "pt": {
        CommandRisk.SAFE: "Comando seguro",
        CommandRisk.MODERATE: "Comando fora da lista de comandos seguros",
        CommandRisk.CRITICAL: "Comando critico",
        CommandRisk.DANGEROUS: "Comando perigoso",
        CommandRisk.BLOCKED: "Comando bloqueado",
    },
    "en": {
        CommandRisk.SAFE: "Safe command",
        CommandRisk.MODERATE: "Command that is not on the list of safe commands",
        CommandRisk.CRITICAL: "Critical command",
        CommandRisk.DANGEROUS: "Dangerous command",
        CommandRisk.BLOCKED: "Blocked command",
    },
}

# What each rule of the pack means.
RULES = {
    "blocked-account-write": "Alteracao de arquivos sensiveis",
    "blocked-dd": "Copia direta de ou para um dispositivo",
    "blocked-device": "Acesso direto a discos ou ao kernel",
    "blocked-fork-bomb": "Fork bomb",
    "blocked-format": "Formatacao de disco",
    "blocked-raw-device": "Acesso direto a um dispositivo",
    "blocked-secret-file": "Leitura de chaves ou senhas",
    "blocked-sensitive-file": "Leitura de arquivos sensiveis",
    "critical-containers": "Remocao de containers",
    "critical-database": "Alteracao ou remocao de dados",
    "critical-decoded": "Execucao de texto codificado",
    "critical-deleted-by-other": "Remocao de arquivos",
    "critical-eval": "Execucao de texto como comando",
    "critical-force-push": "Push forcado ao repositorio",
    "critical-force-push-by-name": "Push forcado ao repositorio",
    "critical-history": "Perda de trabalho ou reescrita do historico",
    "critical-kill": "Encerrar processos",
    "critical-privilege": "Execucao com privilegios elevados",
    "critical-publish": "Publicacao para todos",
    "critical-raw-copy": "Copia direta sobre um arquivo",
    "critical-remote-destruction": "Remocao em outra maquina",
    "critical-removal": "Remocao de arquivos",
    "critical-rights": "Alteracao de permissoes ou donos",
    "critical-uninstall": "Remocao de pacotes",
    "dangerous-accounts": "Alteracao de contas",
    "dangerous-firewall": "Alteracao do firewall",
    "dangerous-kernel": "Alteracao de discos ou do kernel",
    "dangerous-power": "Desligar ou reiniciar a maquina",
    "dangerous-schedule": "Alteracao de tarefas agendadas",
    "dangerous-service": "Alteracao de servicos",
    "dangerous-system": "Alteracao da configuracao da maquina",
    "empty": "Comando vazio",
    "input.not-utf8": "Texto que nao e UTF-8 valido",
    "invalid-text": "Texto invalido",
    "not-understood": "Comando que nao pode ser entendido",
    "too-long": "Comando longo demais",
    "unreadable": "Byte nulo no comando",
}
# What is left is told by what it does; the words of its own rule are the core's.
EFFECTS = {
    Effect.CALLS: "Chamada de programa",
    Effect.READS: "Leitura de arquivos",
    Effect.WRITES: "Alteracao de arquivos do sistema",
    Effect.DELETES: "Remocao destrutiva",
    Effect.EXECUTES: "Execucao de codigo",
    Effect.DOWNLOADS_AND_EXECUTES: "Execucao de codigo baixado da rede",
    Effect.INSTALLS: "Instalacao de programas",
    Effect.NETWORK: "Acesso a rede",
    Effect.REMOTE: "Acao destrutiva em outra maquina",
    Effect.PRIVILEGE: "Escalacao de privilegios",
    Effect.SECRETS: "Leitura de chaves ou senhas",
    Effect.EXFILTRATES: "Envio de dados para fora",
    Effect.PERSISTS: "Instalacao de algo que roda sozinho depois",
    Effect.PUBLISHES: "Publicacao",
    Effect.REWRITES_HISTORY: "Reescrita do historico",
    Effect.SCHEMA_CHANGE: "Alteracao do banco de dados",
    Effect.KILLS: "Encerrar processos vitais",
    Effect.SYSTEM: "Alteracao do sistema",
    Effect.TAMPERS: "Tentativa de contornar a protecao",
    Effect.DECEIVES: "Texto que engana quem o le",
    Effect.UNKNOWN: "Comando que nao pode ser entendido",
}

_SAID = {
    "autonomous": (
        "{level} bloqueado em modo autonomo",
        "{level} blocked in autonomous mode",
    ),
    "strict": ("{level} bloqueado em modo estrito", "{level} blocked in strict mode"),
    "policy": ("Comando bloqueado pela politica: {why}", "Command blocked by policy: {why}"),
    "denied": ("Comando negado pelo usuario: {why}", "Command denied by the user: {why}"),
    "nobody": (
        "Comando nao confirmado, e portanto nao executado: {why}",
        "Command not confirmed, and so not run: {why}",
    ),
    "waits": (
        "As alteracoes aguardam confirmacao: redoma apply {why}",
        "What it changed waits for confirmation: redoma apply {why}",
    ),
    "timed out": (
        "Tempo esgotado apos {why} segundos",
        "Time ran out after {why} seconds",
    ),
    "limit": (
        "Comando encerrado por um limite: {why}",
        "Command ended because of a limit: {why}",
    ),
    "held back": (
        "Retirado, pois somente uma pessoa pode altera-lo: {why}",
        "Taken away, since only a person may change it: {why}",
    ),
    "cut": (
        "Saida cortada: {why} bytes mantidos",
        "The output was cut: {why} bytes are kept",
    ),
    "place": (
        "Diretorio de trabalho nao permitido: {why}",
        "Working directory not allowed: {why}",
    ),
    "outside": (
        "Caminho fora das areas permitidas: {why}",
        "Path outside of what is allowed: {why}",
    ),
    "failed": ("Nao foi possivel executar: {why}", "Could not run: {why}"),
}


def language_named(language: str) -> str:
    """`pt` or `en`, also from `pt-BR` or `en_US`."""
    known = language.replace("_", "-").split("-")[0].lower()
    if known not in LANGUAGES:
        raise ValueError(f"language: {language!r} is none of {', '.join(LANGUAGES)}")
    return known


def reason(language: str, risk: CommandRisk, worst: tuple[Finding, ...]) -> str:
    """Why a command has its level, in one line."""
    level = _LEVELS[language][risk]
    if risk <= CommandRisk.MODERATE or not worst:
        return level
    found = worst[0]
    if language == "en":
        return f"{level}: {found.reason}"
    return f"{level}: {RULES.get(found.rule) or EFFECTS[found.effect]}"


def said(language: str, what: str, why: str = "", *, risk: CommandRisk = CommandRisk.SAFE) -> str:
    """One line for standard error, with the sandbox's mark in front."""
    text = _SAID[what][LANGUAGES.index(language)]
    return f"{MARK} {text.format(why=why, level=_LEVELS[language][risk])}"


# The lists of the terminal sandbox, read out of the rules that judge by them. They are words and
# flags of a parsed command, not expressions for raw text: `git push --force` is found behind
# quotes, variables and `bash -c`, and a mention in a message is not.
_LISTED = rules("terminal")
BLOCKED_PATTERNS: tuple[str, ...] = tuple(
    command for rule in _LISTED if rule.risk is Risk.FORBIDDEN for command in rule.commands
)
DANGEROUS_PATTERNS: tuple[tuple[str, str], ...] = tuple(
    (command, RULES[rule.rule])
    for rule in _LISTED
    if rule.risk is Risk.DANGEROUS
    for command in rule.commands
)
CRITICAL_PATTERNS: tuple[tuple[str, str], ...] = tuple(
    (command, RULES[rule.rule])
    for rule in _LISTED
    if rule.risk is Risk.ELEVATED
    for command in rule.commands
)
SAFE_COMMANDS: frozenset[str] = frozenset(
    command for rule in _LISTED if rule.rule == "listed-safe" for command in rule.commands
)
