"""Commands of many programs: looking is safe, changing is never, ending things is asked."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from redoma.pipeline.decisions.check import check

LOOKS = r"""
amtool alert query
amtool check-config f
ansible-config view
ansible-config dump --only-changed
ansible-doc -l
ansible-doc -s copy
ansible-galaxy role list
ansible-galaxy info x
ansible-inventory -i x --host h
ansible-lint p.yml
ansible-lint --list-rules
ansible-playbook p.yml --syntax-check
ansible-playbook --list-tags p.yml
ansible-test sanity --list-tests
argocd app get x
argocd app resources x
auth0 users show x
auth0 actions diff x
aws cloudformation estimate-template-cost --template-body file://t.yaml
aws emr describe-cluster --cluster-id j
aws es describe-elasticsearch-domain --domain-name d
aws sns list-topics
aws stepfunctions validate-state-machine-definition --definition d
az acr manifest list-metadata -r r -n x
az cloud list
az group show -n g
az network vnet subnet list -g g --vnet-name v
az repos pr show --id 1
az webapp identity show -n w -g g
black --check .
black --diff .
brew --version
brew shellenv
bun pm bin
bun why x
cargo bloat --help
cargo +nightly --version
cd src && git status
cd /home/user/project && git diff
cdk diff x
cdk -a "x" ls
chezmoi cat ~/.bashrc
chezmoi cat-config
consul members
consul kv get x
docker buildx history ls
docker plugin inspect x
docker node ls
docker trust inspect x
docker compose port web 80
docker-compose -f a.yml config
doctl compute droplet get x
doctl databases list
eksctl get clusters
eksctl version
fastly service list
fastly service describe
firebase use
firebase apps:sdkconfig
flux version
flux events
fly regions list
fly volumes list
gcloud compute backend-services get-health b --global
gcloud container images describe i
gcloud run jobs list
gcloud ai endpoints list
gcloud dataproc clusters list
gcloud compute instances create --help
gh browse --no-browser
gh codespace view
gh pr view 1 --json files
gh workflow list
git branch -a
git branch -r --sort=-committerdate --format='%(refname)'
git reflog exists HEAD
git show HEAD:f
git submodule status
git submodule summary
git --no-pager log
git shortlog HEAD
glab config get editor
glab version
helm show all x
helm dep ls
heroku pg:info
heroku auth:whoami
hub ci-status
isort --check-only .
isort -d x.py
istioctl analyze
istioctl proxy-config routes x
k3d cluster list
kafka-consumer-groups --list --bootstrap-server b
kafka-topics --list --bootstrap-server b
kafka-topics --describe --bootstrap-server b
kind get clusters
kubectl get pods -n x -o yaml
kubectl explain pod.spec
kubectl kustomize .
kubectl apply view-last-applied deploy/x
kubectl --kubeconfig=f get nodes
kustomize build .
minikube status
minikube service list
molecule list
mysql -e "DESCRIBE t" d
nats stream ls
nats stream info s
netlify sites:list
netlify status
nomad alloc logs x
nomad fmt -check
npm audit
npm pkg get name
packer inspect t.hcl
packer fmt -check -diff .
pip config debug
pip hash f
pip3 --python p list
pnpm env list
pnpm cache list
podman image tree x
podman events
poetry version
poetry list
pre-commit --version
pre-commit help
prometheus --help
promtool query range http://x up
promtool promql format up
pulumi stack output
pulumi version
rabbitmqctl status
redis-cli -h h -p 6379 LLEN x
redis-cli --latency
ruff check
ruff check --show-files
rustup override list
rustup doc --path
sam list stack-outputs
sam logs
sentry-cli releases list
sentry-cli info
serverless print
serverless logs -f x
sls info
sqlite3 x.db .tables
stripe logs tail
stripe get /v1/charges
supabase projects list
supabase functions list
terraform plan -var x=y -var-file f
terraform output -raw x
uv python dir
uv generate-shell-completion bash
vault kv list secret/
vault token lookup
vercel whoami
vercel env ls
wrangler d1 list
wrangler deployments list
yarn config list
yarn explain peer-requirements
"""

CHANGES = r"""
amtool silence add x
ansible all -m setup
ansible-builder build
ansible-community --version-x
ansible-config init
ansible-console
ansible-galaxy collection download x
ansible-inventory --list --output f
ansible-lint --write
ansible-navigator run p.yml
ansible-playbook -C p.yml
ansible-test units
ansible-vault view f
argocd admin initial-password
auth0 network-acl create
aws cloudtrail start-logging --name t
aws codebuild stop-build --id i
aws configservice put-config-rule --config-rule file://r
aws events put-events --entries file://e
aws iam enable-mfa-device --user-name u
aws s3 mb s3://b
aws s3 presign s3://b/k
az container attach -g g -n c
az functionapp start -n f -g g
az repos pr update --id 1 --status completed
az vm start -g g -n v
az webapp config appsettings set -n w -g g --settings A=B
az lab vm start -n n
black .
brew unlink jq
bun x y
cargo rustc
cd /tmp && git status
cdk
chezmoi completion bash -o f
consul exec ls
docker buildx imagetools create -t a b
docker import f
docker manifest create a b
docker compose
docker image build .
docker-compose exec web ls
doctl compute ssh x
eksctl utils write-kubeconfig --cluster x
firebase functions:shell
flux push artifact x
fly console
gcloud dns record-sets transaction start --zone z
gcloud iam roles copy
gcloud kms encrypt --key k --plaintext-file p --ciphertext-file c
gcloud kms mac-verify --key k
gcloud storage diagnose gs://b
gh issue lock 1
gh project copy 1
gh variable set X -b y
gh workflow enable ci.yml
git archive -o f.zip HEAD
git config --remove-section x
git for-each-repo --config=x y
git fsck --lost-found
git pull
git submodule deinit x
git symbolic-ref HEAD refs/heads/x
git worktree remove x
glab cluster agent update-kubeconfig
helm create x
heroku open
hub sync
isort --atomic x.py
istioctl install
k3d cluster create
kind create cluster
kubectl rollout pause deploy/x
kubectl apply -f f
kubectl apply -f f --dry-run=server
kubectl create secret generic x --from-literal=a=b
kubectl annotate pod x a=b
kustomize edit set image x
minikube service x
molecule test
netlify env:get X
nomad fmt
npm config delete a
op read op://a/b/c
packer build t.hcl
pip install -r r.txt
pnpm add x
podman container restore x
poetry python install 3.12
pre-commit init-templatedir x
prometheus --config.file=f
promtool push metrics http://x
pulumi stack init x
pushd /srv/x && git status
redis-cli --rdb f
ruff check --add-noqa
rustup toolchain install x
sam build
serverless invoke -f x
sqlcmd create mssql
stripe listen
supabase migration new x
tea pr checkout 1
terraform stacks init
uv init
uvx ruff
vault read secret/x
vercel promote x
wrangler init
yarn install
"""


def risk(command: str) -> Risk:
    return check(command, cwd="/home/user/project", home="/home/user").assessment.risk


@pytest.mark.parametrize("command", LOOKS.strip().splitlines())
def test_a_command_that_only_looks_is_safe(command: str) -> None:
    assert risk(command) is Risk.SAFE


@pytest.mark.parametrize("command", CHANGES.strip().splitlines())
def test_a_command_that_changes_something_runs_but_is_never_safe(command: str) -> None:
    assert risk(command) in (Risk.MODERATE, Risk.ELEVATED)
