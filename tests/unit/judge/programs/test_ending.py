"""Commands that end something, of programs known and unknown, and what runs code of others."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from redoma.pipeline.decisions.check import check

ENDS = r"""
acli jira workitem delete X
airflow dags delete x
akamai purge delete x
akeyless delete-item --name x
alembic downgrade base
algolia indices clear x
aliyun ecs DeleteInstance --InstanceId x
amplify delete
amqp-delete-queue -q q
amtool silence expire x
apex delete x
appcenter apps delete
argocd proj delete x
atlas dbusers delete x
auth0 logs streams delete x
aws cloudwatch delete-alarms --alarm-names a
aws cognito-idp admin-delete-user --user-pool-id p --username u
az acr repository delete -n r --image x
az storage message clear -q q
azcopy sync a b --delete-destination=true
b2 rm b2://x
barman delete s b
beanstalk-cli delete x
bitrise delete x
bk pipeline delete x
borg prune r
bq rm -t d.t
braintree customer delete x
buildkite-agent stop
bw delete item x
caddy stop
ccloud cluster delete x
cdktf destroy
cf delete x -f
chalice delete
chamber delete s k
cilium uninstall
cinder delete x
circleci context delete github o c
clerk users delete x
cloudflared tunnel delete x
codefresh delete pipeline x
codepush deployment remove x
concourse destroy-pipeline x
confluent flink statement delete s
conjur policy delete x
consul kv delete -recurse x
contentful content-type delete --id x
convex env remove X
copilot svc delete
crane delete x
curator --config c delete.yml
curator_cli delete-indices
curl -X DELETE -H 'Authorization: x' https://api.stripe.com/v1/customers/cus_1
dagster run delete x
databricks clusters delete x
datadog monitors delete 1
datadog-ci synthetics delete x
dbmate drop
dbt run --full-refresh
deck gateway reset --force
docker volume rm x
doctl compute droplet delete x
dog monitor mute_all
doppler projects delete x
drizzle-kit drop
drone repo rm x
dropdb x
dropuser x
drush site:install
duplicity remove-older-than 1M url
eas update:delete x
eb terminate x
ecs-cli down
eksctl delete cluster --name x
elasticdump --input x --output y --deleteAll
equinix device delete x
es-cli delete index x
etcdctl del /x --prefix
exo compute instance delete x
fastlane produce delete
fastly purge --all --service-id x
firebase hosting:channel:delete x
flarectl dns delete --zone z --id i
flux uninstall
fly certs remove x
flyctl volumes destroy x
flyway clean
fusionauth delete x
gam update group x clear
gcloud spanner rows delete --table t
gcloud storage rm gs://b/o
gh run delete 1
ghost uninstall
git reset --hard
git stash drop
glab api -X DELETE projects/1
goose down-to 0
gopass rm x
grafana cli admin reset-admin-password x
grafana-cli plugins uninstall x
grafanactl resources delete dashboards/x
grr delete x
gsutil rb gs://b
hadoop fs -rm -r /x
hal deploy clean
haproxyctl disable server x
harbor project delete x
hasura metadata clear
hcloud volume delete x
hdfs dfs -expunge
heroku pipelines:destroy x
hs project delete
http DELETE host.example:9200/idx
hubspot project delete
ibmcloud ks cluster rm --cluster x
infisical secrets delete X
influx delete --bucket b --start s --stop e
influxd restore x
istioctl uninstall --purge
java -jar jenkins-cli.jar delete-job x
jenkins-cli delete-job x
jenkins-jobs delete x
jf rt del x
jfrog rt repo-delete x
jira issue delete X-1
k3d cluster delete x
kafka-acls --remove --topic t --bootstrap-server b
kafka-configs --alter --delete-config x --bootstrap-server b
kafka-consumer-groups --delete --group g --bootstrap-server b
kafka-delete-records --offset-json-file f --bootstrap-server b
kafka-topics --delete --topic t --bootstrap-server b
kafka-topics.sh --bootstrap-server b --delete --topic t
keepassxc-cli rm db x
kind delete cluster
kn service delete x
knex migrate:rollback --all
kong migrations reset
kongctl delete x
kopia snapshot delete x --delete
kops delete cluster --name x --yes
kubeadm reset
kubectl delete pod x
launchdarkly flags delete f
ldcli projects delete --project p
linear issue delete x
linkerd uninstall
linode-cli volumes delete 1
liquibase rollback-count 1
logcli delete x
lpass rm x
m365 spo site remove x
magento setup:uninstall
mailchimp delete x
mc rm --recursive --force a/b
meilisearch-cli index delete x
memcflush --servers=x
metal device delete -i x
migrate -path x -database y drop
minikube delete
mix ecto.reset
mongocli atlas clusters delete x
mongorestore --drop d
mysqladmin shutdown
nats stream delete s
nats kv rm b
neo4j-admin database delete x
neon roles delete x
neonctl branches delete x
netlify functions:delete x
newrelic entity tags delete --guid g
nexus delete x
nginx -s stop
nodetool drain
nomad job stop -purge x
notion delete x
nova delete x
npm unpublish x
npx sequelize-cli db:drop
nrql delete x
oc delete project x
oci compute instance terminate --instance-id x
okta users delete x
op group delete x
opensearch-cli delete x
openstack server delete x
opsgenie delete alert x
oras manifest delete x
packet device delete x
pagerduty service delete x
pass rm x
paypal delete x
pd service delete x
pg_dropcluster 14 main
pg_resetwal x
pg_restore --clean -d x f
pgbackrest expire --stanza s
php bin/console doctrine:database:drop --force
postmark servers delete x
prefect deployment delete x
prisma migrate reset --force
prismic delete x
promtool tsdb delete x
pscale password delete d b p
pulsar-admin topics delete t
pulumi stack rm x
rabbitmqadmin purge queue name=q
rabbitmqctl purge_queue q
rails db:drop
railway service delete x
rancher clusters delete x
rclone deletefile r:x
redis-cli SHUTDOWN
reg rm x
regctl tag delete x
render deploys cancel x
restic forget --prune --keep-last 1
rpk topic delete t
s3cmd rb s3://b
s5cmd rm s3://b/*
salesforce org delete scratch
sam delete
sanity documents delete x
scw instance server terminate x
sendgrid delete x
sentry-cli releases delete v
sequelize db:drop
serverless remove
ses delete-identity x
sf project delete source -m x
sfdx force:org:delete
shopify app delete x
skopeo delete docker://x
slack app delete
sls remove --stage prod
solr delete -c x
spin application delete x
spinnaker pipeline delete x
splunk remove index x
sqitch revert
square customers delete x
sst remove
stripe refunds create --charge ch
supabase domains delete
tailscale down
tccli cvm TerminateInstances --InstanceIds x
temporal operator namespace delete x
terraform destroy -auto-approve
tkn pipelinerun delete --all
traefikctl delete x
travis env clear
trello delete-board x
turso db destroy x
twilio api:core:messages:remove --sid x
typeorm schema:drop
typesense collections delete x
unleash features archive f
up stack delete
upstash redis delete x
vault secrets disable kv
vault token revoke x
velero restore delete x
vercel env rm X
vultr-cli instance delete x
wal-g delete retain 5
wget --method=DELETE https://api.example.com/x
workos delete x
wp user delete 1
wrangler kv:namespace delete --namespace-id x
wrangler queues delete q
xata branch delete x
xh delete https://api.example.com/x
zappa undeploy
zendesk delete x
zkCli.sh deleteall /x
restic unlock
gh workflow disable nightly.yml
glab ci cancel 7
deck gateway sync kong.yaml
gitlab-runner stop
"""


def risk(command: str) -> Risk:
    return check(command, cwd="/home/user/project", home="/home/user").assessment.risk


@pytest.mark.parametrize("command", ENDS.strip().splitlines())
def test_a_command_that_ends_something_reaches_a_person(command: str) -> None:
    assert risk(command) >= Risk.DANGEROUS


UNKNOWN_PROGRAMS = [
    ("frobctl cluster list", Risk.MODERATE),
    ("frobctl cluster delete staging", Risk.DANGEROUS),
    ("frobctl --region eu users purge", Risk.DANGEROUS),
    ("frobctl -t prod destroy-pipeline -p web", Risk.DANGEROUS),
    ("frobctl apps:destroy web", Risk.DANGEROUS),
    ("frobctl ecs DeleteCluster --name x", Risk.DANGEROUS),
    ("frobctl-delete-queue jobs", Risk.DANGEROUS),
    ("frobctl lint drop-shadow.css", Risk.MODERATE),
    ("frobctl report delete.txt", Risk.MODERATE),
    ("frobctl a b c delete", Risk.MODERATE),
    ("frobctl --help", Risk.SAFE),
    ("doctl frobnicate purge x", Risk.DANGEROUS),
    ("aws frobnicate delete-everything", Risk.DANGEROUS),
    ("php artisan migrate:fresh", Risk.FORBIDDEN),
    ("php artisan migrate:status", Risk.MODERATE),
    ("php bin/console doctrine:schema:drop --force", Risk.FORBIDDEN),
]


@pytest.mark.parametrize(("command", "level"), UNKNOWN_PROGRAMS)
def test_a_verb_of_destruction_is_asked_even_of_an_unknown_program(
    command: str, level: Risk
) -> None:
    assert risk(command) is level


FOREIGN = [
    ("git -C src status", Risk.SAFE),
    ("git -C /srv/other status", Risk.MODERATE),
    ("cd /srv/other && git log", Risk.MODERATE),
    ("env -C /srv/other git diff", Risk.MODERATE),
    ("git --git-dir=.git log", Risk.SAFE),
    ("git --git-dir=/srv/other/.git log", Risk.MODERATE),
    ("python3 -m calendar", Risk.MODERATE),
    ("python3 -I -m calendar", Risk.SAFE),
    ("docker exec web cat /srv/notes.txt", Risk.MODERATE),
    ("kubectl exec web -- cat /srv/notes.txt", Risk.MODERATE),
    ("psql -c 'SELECT a FROM t'", Risk.SAFE),
    ("psql -c 'SELECT a FROM t; SELECT b FROM t'", Risk.MODERATE),
    ("psql -c \"SELECT nextval('numbers')\"", Risk.MODERATE),
    ("mysql -e 'USE shop'", Risk.MODERATE),
    ("pulumi config", Risk.SAFE),
    ("pulumi config frobnicate x", Risk.MODERATE),
    ("gh pr create --help", Risk.SAFE),
    ("cargo publish -h", Risk.SAFE),
    ("cargo publish", Risk.DANGEROUS),
    ("aws sqs purge-queue help", Risk.SAFE),
    ("poetry run app serve --help", Risk.MODERATE),
    ("kubectl apply -f web.yaml --dry-run=client", Risk.MODERATE),
    ("kubectl apply -f web.yaml --dry-run=none", Risk.ELEVATED),
]


@pytest.mark.parametrize(("command", "level"), FOREIGN)
def test_what_runs_settings_or_programs_of_others_is_not_safe(command: str, level: Risk) -> None:
    assert risk(command) is level
