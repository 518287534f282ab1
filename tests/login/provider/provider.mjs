// A real OpenID provider on this machine's loopback, for the tests of `redoma login`.
// Its address is the first line on standard output; it ends with its standard input.
import { Provider } from 'oidc-provider';

const seconds = Number(process.env.TOKEN_SECONDS || 3600);
const clients = [
  {
    client_id: 'redoma-test',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code'],
    redirect_uris: ['http://127.0.0.1/callback'],
  },
];
const configuration = {
  clients,
  features: { deviceFlow: { enabled: true }, revocation: { enabled: true }, devInteractions: { enabled: true } },
  ttl: { AccessToken: seconds, IdToken: 3600, RefreshToken: 86400, Interaction: 600, Session: 600, Grant: 86400, DeviceCode: 600 },
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  cookies: { keys: ['for tests only'] },
  findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
};
const { createServer } = await import('node:http');
const server = createServer((request, answer) => callback(request, answer));
let callback;
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  callback = new Provider(issuer, configuration).callback();
  console.log(issuer);
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
