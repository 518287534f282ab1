# What `git push` would send, from what is here: the remote is not asked. Plumbing only, so that
# no alias, pager, hook or helper of the repository runs.
# $1 directory; $2 "force", "lease" or ""; $3 what: "refs", "all", "tags", "mirror" or "delete";
# $4 remote or ""; then refspecs.
cd -- "$1" || exit 1
force=$2 what=$3 remote=$4
shift 4
say() { printf 'redoma: git push: %s\n' "$1" >&2; }
git rev-parse --git-dir >/dev/null || exit 128
branch=$(git symbolic-ref -q --short HEAD)
if [ -z "$remote" ]; then
    remote=$(git config "branch.$branch.pushRemote" || git config remote.pushDefault ||
        git config "branch.$branch.remote" || echo origin)
fi
url=$(git config "remote.$remote.pushurl" || git config "remote.$remote.url" || printf '%s' "$remote")
url=$(printf '%s' "$url" | sed 's#://[^/@]*@#://#')
commits() { # revisions…
    count=$(git rev-list --count "$@" --) || return
    listed=$(git rev-list --oneline --max-count=10 "$@" -- | {
        between=
        while IFS= read -r line; do
            printf '%s%s' "$between" "$line"
            between='; '
        done
    })
    case $count in
    0) printf 'nothing new' ;;
    1) printf '1 commit: %s' "$listed" ;;
    *) printf '%s commits: %s' "$count" "$listed" ;;
    esac
    if [ "$count" -gt 10 ]; then printf '; …'; fi
}
one() { # source destination forced
    to="$remote ($url)"
    if [ -z "$1" ]; then
        say "$to: delete $2"
        return
    fi
    if ! tip=$(git rev-parse -q --verify "$1^{commit}"); then
        say "$to: $1 is not a commit here"
        failed=1
        return
    fi
    case $2 in refs/tags/*)
        say "$to: tag ${2#refs/tags/}"
        return
        ;;
    esac
    name=${2#refs/heads/}
    seen=refs/remotes/$remote/$name
    if ! git rev-parse -q --verify "$seen" >/dev/null; then
        say "$to: new branch $name: $(commits "$tip" --not "--remotes=$remote")"
    elif git merge-base --is-ancestor "$seen" "$tip"; then
        say "$to: $name: $(commits "$seen..$tip")"
    elif [ "$3" ]; then
        say "$to: $name FORCED, not a fast-forward: $(commits "$seen..$tip"); drops $(commits "$tip..$seen")"
    else
        say "$to: $name would be rejected, not a fast-forward: the remote has $(commits "$tip..$seen")"
        failed=1
    fi
}
refspec() { # refspec
    spec=$1 forced=$force
    case $spec in +*) forced=force spec=${spec#+} ;; esac
    case $spec in
    *:*) from=${spec%%:*} to=${spec#*:} ;;
    *) from=$spec to=$spec ;;
    esac
    if [ "$to" = HEAD ] || [ "$to" = @ ]; then to=$branch; fi
    if [ "$what" = delete ]; then from=; fi
    if [ "$from" ] && git rev-parse -q --verify "refs/tags/$from" >/dev/null &&
        ! git rev-parse -q --verify "refs/heads/$from" >/dev/null; then
        to=refs/tags/${to#refs/tags/}
    fi
    one "$from" "$to" "$forced"
}
failed=0
case $what in
all | mirror)
    for head in $(git for-each-ref --format='%(refname:short)' refs/heads); do refspec "$head"; done
    if [ "$what" = mirror ]; then say "$remote ($url): every other ref, and deletes what is not here"; fi
    ;;
tags) say "$remote ($url): every tag the remote has not; here are $(git for-each-ref refs/tags | wc -l | tr -d ' ')" ;;
esac
if [ $# -gt 0 ]; then
    for spec; do refspec "$spec"; done
elif [ "$what" = refs ]; then
    case $(git config push.default) in
    nothing) say "nothing: push.default says so" ;;
    matching) say "$remote ($url): every branch that both sides have" ;;
    upstream | tracking)
        merge=$(git config "branch.$branch.merge")
        refspec "HEAD:${merge#refs/heads/}"
        ;;
    *) if [ "$branch" ]; then refspec "$branch"; else say "no branch is checked out" && failed=1; fi ;;
    esac
fi
hook=$(git rev-parse --git-path hooks/pre-push)
if [ -x "$hook" ]; then say "the pre-push hook was not run"; fi
exit "$failed"
