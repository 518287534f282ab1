"""The examples of the terminal sandbox's document, as written there; only the import path differs."""

CONFIRM = """
def confirm_callback(command: str, risk: CommandRisk, reason: str) -> bool:
    print(f"Confirmar execucao de: {command}?")
    print(f"Risco: {risk.value} - {reason}")
    return input("(s/n): ").lower() == 's'

sandbox = TerminalSandbox(confirm_callback=confirm_callback)
sandbox.execute_sandboxed("rm -rf /tmp/old_files")
"""

AUTONOMOUS = """
sandbox = TerminalSandbox(execution_mode=ExecutionMode.AUTONOMOUS)
exit_code, stdout, stderr = sandbox.execute_sandboxed("sudo apt update")
"""

ANALYSIS = """
from src.core.terminal_sandbox import TerminalSandbox, CommandRisk

sandbox = TerminalSandbox()
result = sandbox.analyze_command("rm -rf /tmp/test")

print(result.risk)                 # CommandRisk.CRITICAL
print(result.requires_confirmation)  # True
print(result.reason)               # "Comando critico: Remocao de arquivos"
"""

EXECUTION = """
from src.core.terminal_sandbox import execute_safe, is_command_safe

# Verificar antes de executar
if is_command_safe("ls -la"):
    exit_code, stdout, stderr = execute_safe("ls -la")

# Obter resumo de risco
from src.core.terminal_sandbox import get_command_risk
result = get_command_risk("sudo apt update")
print(result.risk.value)  # "critical"
"""

MODE = """
from src.core.terminal_sandbox import set_sandbox_mode, ExecutionMode

# Para agentes autonomos (sem interacao humana)
set_sandbox_mode(ExecutionMode.AUTONOMOUS)
"""

CALLBACK = """
from src.core.terminal_sandbox import set_confirm_callback, CommandRisk

def ui_confirm(command: str, risk: CommandRisk, reason: str) -> bool:
    # Mostrar dialog na UI
    from src.ui.dialogs import show_confirmation_dialog
    return show_confirmation_dialog(
        title="Confirmar Comando Critico",
        message=f"Comando: {command}\\nRisco: {risk.value}\\n{reason}",
    )

set_confirm_callback(ui_confirm)
"""

PATHS = """
sandbox = TerminalSandbox()

# Apenas paths seguros sao permitidos
sandbox.validate_path("~")       # True
sandbox.validate_path("/tmp")    # True
sandbox.validate_path("/etc")    # False
"""

TIMEOUT = """
# Maximo de 120 segundos
exit_code, stdout, stderr = sandbox.execute_sandboxed(
    "long_running_command",
    timeout=60,  # Sera respeitado ate o maximo de 120
)
"""

DENIED = """
sandbox = TerminalSandbox(confirm_callback=deny_callback)
sandbox.execute_sandboxed("rm test.txt")

# Ver comandos que foram negados
denied = sandbox.get_denied_commands()
print(denied)  # ["rm test.txt"]

# Limpar log
sandbox.clear_denied_commands()
"""

EXECUTOR = """
from src.core.terminal_executor import TerminalExecutor

executor = TerminalExecutor()
# Todas as execucoes passam pelo sandbox
exit_code, stdout, stderr = executor.execute("ls -la")
"""

WHOLE = """
from src.core.terminal_sandbox import (
    TerminalSandbox,
    ExecutionMode,
    CommandRisk,
)

def safe_terminal_agent():
    # Criar sandbox em modo autonomo para agente
    sandbox = TerminalSandbox(execution_mode=ExecutionMode.AUTONOMOUS)

    commands = [
        "ls -la",           # SAFE - executa
        "git status",       # SAFE - executa
        "rm old_file.txt",  # CRITICAL - bloqueado
        "sudo apt update",  # CRITICAL - bloqueado
    ]

    for cmd in commands:
        result = sandbox.analyze_command(cmd)

        if result.risk == CommandRisk.SAFE:
            exit_code, stdout, _ = sandbox.execute_sandboxed(cmd)
            print(f"[OK] {cmd}: {stdout[:50]}")
        else:
            print(f"[BLOQUEADO] {cmd}: {result.reason}")
"""
