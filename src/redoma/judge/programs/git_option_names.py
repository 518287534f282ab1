"""The names of the options of git's subcommands, as data."""

from __future__ import annotations

# Per subcommand: options with a value / options whose value must be attached / switches.
# Switches are listed where a beginning of their name must be told apart from another's.
OPTIONS: dict[str, tuple[str, str, str]] = {
    "add": (
        "--chmod --pathspec-from-file",
        "",
        "-n --dry-run -v --verbose -f --force -i --interactive -p --patch -e --edit -u --update "
        "-A --all -N --intent-to-add --refresh --ignore-errors --ignore-missing --renormalize "
        "--sparse",
    ),
    "am": (
        "-C -p --directory --exclude --include --whitespace --patch-format --empty --quoted-cr",
        "-S --gpg-sign --show-current-patch",
        "--abort --skip --quit --continue --resolved -r --retry --allow-empty -3 --3way -i "
        "--interactive -s --signoff -k --keep -q --quiet --reject",
    ),
    "apply": (
        "-p -C --exclude --include --whitespace --directory --build-fake-ancestor",
        "",
        "--check --stat --numstat --summary --apply --index --cached --reject --reverse -R -3 "
        "--3way --unsafe-paths --allow-empty --recount --verbose -v -N --intent-to-add -z",
    ),
    "archive": (
        "-o --output --format --prefix --remote --exec --add-file --add-virtual-file --mtime",
        "",
        "-l --list -v --verbose --worktree-attributes",
    ),
    "bisect": ("--term-old --term-new --term-good --term-bad", "", "--no-checkout --first-parent"),
    "branch": (
        "-u --set-upstream-to --sort --points-at --format --contains --no-contains --merged "
        "--no-merged",
        "--abbrev --color --column --track",
        "-d -D --delete -t -f --force -m -M --move -c -C --copy -l --list -a --all -r --remotes "
        "-v -vv --verbose -q --quiet --show-current --edit-description --unset-upstream "
        "--create-reflog -i --ignore-case --omit-empty --recurse-submodules",
    ),
    "checkout": (
        "-b -B --orphan --conflict -U --unified --inter-hunk-context --pathspec-from-file",
        "--track --recurse-submodules",
        "-f --force -t -q --quiet -m --merge -d --detach --ours --theirs -2 -3 -p --patch -l "
        "--guess --overlay --ignore-skip-worktree-bits --ignore-other-worktrees --progress "
        "--overwrite-ignore --pathspec-file-nul",
    ),
    "checkout-index": (
        "--stage --prefix",
        "",
        "-f --force -a --all -u --index -q -n --temp --stdin -z",
    ),
    "cherry-pick": (
        "-m --mainline -s --strategy -X --strategy-option --cleanup --empty",
        "-S --gpg-sign",
        "--abort --skip --quit --continue -e --edit -n --no-commit -x --ff --allow-empty --signoff "
        "--allow-empty-message --keep-redundant-commits --rerere-autoupdate",
    ),
    "clean": (
        "-e --exclude",
        "",
        "-f --force -n --dry-run -d -x -X -i --interactive -q --quiet",
    ),
    "clone": (
        "-o --origin -b --branch -u --upload-pack --receive-pack --reference "
        "--reference-if-able --template -c --config -j --jobs --depth --shallow-since "
        "--shallow-exclude --separate-git-dir --filter --server-option --bundle-uri "
        "--ref-format --revision --exec",
        "--recurse-submodules --recursive",
        "-l --local --no-hardlinks -s --shared -q --quiet -v --verbose --progress -n "
        "--no-checkout --bare --mirror --sparse --single-branch --no-tags --shallow-submodules "
        "--remote-submodules --dissociate --also-filter-submodules --reject-shallow",
    ),
    "commit": (
        "-m --message -F --file -C --reuse-message -c --reedit-message --author --date -t "
        "--template --fixup --squash --trailer --cleanup --pathspec-from-file -U --unified "
        "--inter-hunk-context",
        "-S --gpg-sign -u --untracked-files",
        "-a --all -p --patch --amend -n --no-verify --verify --dry-run --allow-empty "
        "--allow-empty-message --no-edit --edit -e -s --signoff -v --verbose -q --quiet -o "
        "--only -i --include --reset-author --short --branch --porcelain --long -z --null "
        "--status --no-status --no-post-rewrite",
    ),
    "config": (
        "-f --file --blob --type --default --comment --value --url",
        "",
        "--global --system --local --worktree --get --get-all --get-regexp --get-urlmatch -l "
        "--list --name-only --show-origin --show-scope --show-names -z --null --unset "
        "--unset-all --add --append --all --replace-all --rename-section --remove-section -e "
        "--edit --includes --fixed-value --regexp --bool --int --bool-or-int --path "
        "--expiry-date --get-color --get-colorbool",
    ),
    "difftool": (
        "-x --extcmd -t --tool",
        "",
        "-y --no-prompt --prompt -d --dir-diff -g --gui --tool-help",
    ),
    "fetch": (
        "--upload-pack --receive-pack --exec --depth --deepen --shallow-since --shallow-exclude "
        "-j --jobs --refmap --negotiation-tip -o --server-option --filter --set-upstream-to "
        "--submodule-prefix --recurse-submodules-default",
        "--recurse-submodules",
        "--all -a --append --atomic --dry-run -f --force -k --keep -m --multiple -n --no-tags "
        "-t --tags -p --prune -P --prune-tags -q --quiet -v --verbose -u --update-head-ok "
        "--unshallow --update-shallow --refetch --porcelain --auto-maintenance --auto-gc "
        "--write-commit-graph --prefetch --stdin -4 -6 --ipv4 --ipv6 --progress --set-upstream",
    ),
    "filter-branch": (
        "--env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter "
        "--tag-name-filter --subdirectory-filter --setup -d --original --state-branch",
        "",
        "-f --force --prune-empty",
    ),
    "filter-repo": (
        "--path --path-glob --path-regex --path-rename --paths-from-file --subdirectory-filter "
        "--to-subdirectory-filter --replace-text --replace-message --mailmap --email-callback "
        "--name-callback --blob-callback --commit-callback --tag-callback --reset-callback "
        "--filename-callback --message-callback --refname-callback --file-info-callback "
        "--source --target --refs --strip-blobs-bigger-than --strip-blobs-with-ids --tag-rename "
        "--state-branch --date-format",
        "",
        "--force -f --analyze --dry-run --partial --invert-paths --use-base-name --prune-empty "
        "--debug",
    ),
    "gc": (
        "",
        "--prune --expire-to --max-cruft-size",
        "--aggressive --auto --force --quiet -q --keep-largest-pack --cruft",
    ),
    "grep": (
        "-e -f -A -B -C -m --max-count --max-depth --threads --after-context --before-context "
        "--context",
        "-O --open-files-in-pager --color",
        "--no-index --untracked --cached --recurse-submodules -i -n -l -L -c -h -H -w -v -E -G "
        "-P -F -a -I -z -q -r -W -p",
    ),
    "init": (
        "--template --separate-git-dir --object-format --ref-format -b --initial-branch",
        "--shared",
        "-q --quiet --bare",
    ),
    "merge": (
        "-m -F --file -s --strategy -X --strategy-option --cleanup --into-name --message",
        "-S --gpg-sign --log",
        "--abort --quit --continue --commit --no-commit -e --edit --no-edit --ff --no-ff "
        "--ff-only -n --stat --squash --signoff --verify-signatures -q -v --progress "
        "--autostash --allow-unrelated-histories --rerere-autoupdate --no-verify --verify",
    ),
    "notes": (
        "-m -F -C -c --ref -s --strategy --separator",
        "",
        "-f --force --allow-empty -n --dry-run --stdin -v",
    ),
    "prune": ("--expire", "", "-n --dry-run -v --verbose --progress --exclude-promisor-objects"),
    "pull": (
        "--upload-pack --receive-pack --exec --depth --deepen --shallow-since --shallow-exclude "
        "-j --jobs -s --strategy -X --strategy-option -o --server-option --cleanup --refmap "
        "--negotiation-tip",
        "-r --rebase -S --gpg-sign --recurse-submodules --log",
        "--all -f --force --ff --no-ff --ff-only --commit --squash --autostash -q -v --progress "
        "--dry-run -p --prune -t --tags -k --keep --unshallow --allow-unrelated-histories "
        "--verify --no-verify --set-upstream",
    ),
    "push": (
        "-o --push-option --repo --receive-pack --exec",
        "--force-with-lease --signed --recurse-submodules",
        "--all --branches --prune --mirror -n --dry-run --porcelain -d --delete --tags "
        "--follow-tags --atomic --no-verify --verify -f --force --force-if-includes --thin "
        "--no-thin -q --quiet -v --verbose --progress -u --set-upstream -4 --ipv4 -6 --ipv6",
    ),
    "read-tree": (
        "--index-output --prefix --exclude-per-directory",
        "",
        "-m --reset -u -i -n --dry-run -v --trivial --aggressive --empty",
    ),
    "rebase": (
        "--onto -s --strategy -X --strategy-option -x --exec -C --whitespace --empty "
        "--keep-base-of",
        "-S --gpg-sign -r --rebase-merges",
        "--continue --abort --skip --quit --edit-todo --show-current-patch -i --interactive "
        "--root --autosquash --autostash --stat -n --no-stat --fork-point --no-fork-point "
        "--keep-empty --keep-base --signoff -f --force-rebase --no-ff --no-verify --verify -q "
        "-v --ignore-whitespace --update-refs --apply -m --merge "
        "--committer-date-is-author-date --reset-author-date --rerere-autoupdate "
        "--reschedule-failed-exec --allow-empty-message --reapply-cherry-picks",
    ),
    "reflog": (
        "--expire --expire-unreachable",
        "",
        "-n --dry-run --all --single-worktree --updateref --rewrite --stale-fix --verbose",
    ),
    "remote": (
        "-t -m",
        "",
        "-v --verbose -f --tags --no-tags --mirror --push --all --add --delete -n --dry-run -a "
        "--auto -d -p --prune",
    ),
    "repack": (
        "--window --depth --window-memory --threads --max-pack-size --unpack-unreachable "
        "--cruft-expiration",
        "",
        "-a -A -d -f -F -l -q -n -k --cruft -b",
    ),
    "replace": (
        "--format",
        "",
        "-d --delete -l --list -e --edit --graft --convert-graft-file -f --force --raw",
    ),
    "reset": (
        "--pathspec-from-file -U --unified --inter-hunk-context",
        "--recurse-submodules",
        "--hard --soft --mixed --merge --keep -q --quiet --refresh -p --patch -N --intent-to-add "
        "--pathspec-file-nul",
    ),
    "restore": (
        "-s --source --conflict --pathspec-from-file -U --unified --inter-hunk-context",
        "--recurse-submodules",
        "-S --staged -W --worktree -p --patch -m --merge --ours --theirs -q --quiet --progress "
        "--overlay --ignore-unmerged --ignore-skip-worktree-bits --pathspec-file-nul",
    ),
    "rm": (
        "--pathspec-from-file",
        "",
        "-f --force -n --dry-run -r --cached --ignore-unmatch -q --quiet --sparse "
        "--pathspec-file-nul",
    ),
    "stash": (
        "-m --message --pathspec-from-file -U --unified",
        "",
        "-p --patch -k --keep-index --no-keep-index -q --quiet -u --include-untracked -a --all "
        "-S --staged --index",
    ),
    "submodule": (
        "-b --branch --depth -j --jobs --reference --name --filter --summary-limit -n",
        "",
        "-q --quiet --cached -f --force --all --init --remote --recursive --checkout --merge "
        "--rebase -N --no-fetch --recommend-shallow --single-branch --default --files "
        "--progress --dissociate",
    ),
    "switch": (
        "-c --create -C --force-create --orphan --conflict",
        "--track --recurse-submodules",
        "-f --force -t --discard-changes -d --detach -m --merge -q --quiet --guess --progress "
        "--ignore-other-worktrees --overwrite-ignore",
    ),
    "tag": (
        "-m --message -F --file -u --local-user --cleanup --sort --format --contains "
        "--no-contains --merged --no-merged --points-at --trailer",
        "-n --column --color --abbrev",
        "-a --annotate -s --sign -d --delete -f --force -l --list -v --verify -i --ignore-case "
        "-e --edit --create-reflog --omit-empty",
    ),
    "update-ref": ("-m", "", "-d --stdin --no-deref -z --create-reflog --batch-updates"),
    "worktree": (
        "-b -B --reason --expire --orphan-name",
        "",
        "-f --force -d --detach --checkout --no-checkout --lock --track --guess-remote -q "
        "--quiet -n --dry-run -v --verbose --porcelain -z --orphan --relative-paths",
    ),
}
OPTIONS["revert"] = OPTIONS["cherry-pick"]
