// SPDX-License-Identifier: Apache-2.0
import { json, server } from './browser.js';
import { equal, ok, test } from './harness.js';
import {
  askWith,
  call,
  hasToken,
  isGood,
  list,
  Problem,
  setToken,
} from '../../../main/resources/io/gpupool/rest/page/js/api.js';

/** Answers the next requests in this order. */
function answers(...all) {
  server.requests.length = 0;
  server.answer = () => all.shift();
}

async function problemOf(promise) {
  try {
    await promise;
  } catch (problem) {
    ok(problem instanceof Problem, `${problem} is no Problem`);
    return problem;
  }
  throw new Error('there is no problem');
}

test('call: sends a body as JSON, and the token', async () => {
  setToken('secret');
  answers(json(200, { name: 'vision' }));
  const answer = await call('POST', 'tenants', { body: { name: 'vision' } });
  equal(answer, { name: 'vision' });
  const [request] = server.requests;
  equal([request.method, request.url], ['POST', '/api/v1/tenants']);
  equal(request.body, '{"name":"vision"}');
  equal(request.headers, { Authorization: 'Bearer secret', 'Content-Type': 'application/json' });
  setToken('');
});

test('call: without a token or a body sends neither', async () => {
  answers(json(204));
  equal(await call('DELETE', 'leases/L1'), undefined);
  equal(server.requests[0].headers, {});
  equal(server.requests[0].body, undefined);
});

test('call: an error has the words of the server', async () => {
  answers(json(409, { detail: 'the partition cannot shrink' }));
  const problem = await problemOf(call('PATCH', 'partitions/a/0/left'));
  equal([problem.status, problem.message], [409, 'the partition cannot shrink']);
});

test('call: an error without words, or that is no JSON, has its status', async () => {
  answers(json(500, {}), { ...json(502), json: async () => JSON.parse('<html>') });
  ok((await problemOf(call('GET', 'me'))).message.includes('500'));
  ok((await problemOf(call('GET', 'me'))).message.includes('502'));
});

test('call: without a token asks for one, and tries again', async () => {
  answers(json(401, { detail: 'no token' }), json(200, { items: [] }));
  let reason;
  askWith(async (why) => {
    reason = why;
    setToken('given');
    return true;
  });
  equal(await call('GET', 'leases'), { items: [] });
  equal(reason, '');
  equal(server.requests[1].headers.Authorization, 'Bearer given');
});

test('call: a token that is no longer good is asked for with the reason', async () => {
  setToken('old');
  answers(json(401, { detail: 'the token has expired' }));
  let reason;
  askWith(async (why) => {
    reason = why;
    return false;
  });
  equal((await problemOf(call('GET', 'leases'))).status, 401);
  equal(reason, 'the token has expired');
});

test('call: does not ask if another request was given a token meanwhile', async () => {
  setToken('old');
  const all = [json(401, { detail: 'expired' }), json(200, 'fine')];
  server.answer = () => {
    setToken('new');
    return all.shift();
  };
  askWith(() => {
    throw new Error('asked');
  });
  equal(await call('GET', 'leases'), 'fine');
});

test('list: follows the cursor to the end', async () => {
  answers(json(200, { items: [1, 2], next: 'a b' }), json(200, { items: [3] }));
  equal(await list('tokens?tenant=vision'), [1, 2, 3]);
  equal(
    server.requests.map(({ url }) => url),
    [
      '/api/v1/tokens?tenant=vision&limit=1000',
      '/api/v1/tokens?tenant=vision&limit=1000&cursor=a%20b',
    ],
  );
});

test('list: a path without a query gets one', async () => {
  answers(json(200, { items: [] }));
  equal(await list('tokens'), []);
  equal(server.requests[0].url, '/api/v1/tokens?limit=1000');
});

test('setToken: keeps the token for this tab, and forgets it', () => {
  setToken('secret');
  equal([hasToken(), sessionStorage.getItem('gpupool.token')], [true, 'secret']);
  setToken('');
  equal([hasToken(), sessionStorage.getItem('gpupool.token')], [false, null]);
});

test('isGood: the server knows a token unless it answers 401', async () => {
  answers(json(200, {}), json(403, {}), json(401, {}));
  equal([await isGood('a'), await isGood('b'), await isGood('c')], [true, true, false]);
});

test('isGood: a text that no header can carry is not sent', async () => {
  answers();
  equal(
    [await isGood('two words'), await isGood('schlüssel'), await isGood('')],
    [false, false, false],
  );
  equal(server.requests, []);
});
