"""Which module handles which program, so that only what is needed is imported."""

from __future__ import annotations

_MODULES = {
    "wrappers": "sudo doas su pkexec env timeout nice nohup xargs",
    "shells": "bash sh dash zsh ksh mksh ash rbash fish csh tcsh",
    "curl": "curl",
    "web": "wget wget2 http https xh xhs aria2c axel lynx w3m links elinks",
    "sockets": "nc ncat netcat nc.traditional nc.openbsd telnet socat websocat wscat grpcurl",
    "remote": "ssh slogin scp sftp ftp tftp lftp ncftp ssh-keygen ssh-add ssh-copy-id ssh-agent sshpass "
    "autossh mosh torsocks torify proxychains proxychains4 tsocks",
    "lookups": "dig nslookup host drill ping whois traceroute mtr tracepath ping6 ping4 fping hping3 arping nping "
    "traceroute6 tcptraceroute nsupdate whoami hostname id logname hostnamectl users groups printenv "
    "nmap masscan zmap rustscan nikto",
    "crypto": "openssl gpg gpg2 gpgv age rage sops ansible-vault git-crypt",
    "files": "rm rmdir unlink cp mv ln install",
    "git": "git",
}

HANDLERS: dict[str, str] = {
    program: module for module, programs in _MODULES.items() for program in programs.split()
}
