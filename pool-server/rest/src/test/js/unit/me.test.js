// SPDX-License-Identifier: Apache-2.0
import { json, server } from './browser.js';
import { equal, test } from './harness.js';
import {
  learnWho,
  mayAdminister,
  mayUse,
  whoIsIn,
} from '../../../main/resources/io/gpupool/rest/page/js/me.js';

async function signedIn(role) {
  server.answer = () => json(200, { name: 'ada', tenant: 'vision', role, expiresAtMillis: 0 });
  await learnWho();
  return [mayAdminister(), mayUse('vision'), mayUse('speech'), mayUse(undefined)];
}

test('mayUse: until the server has answered, nothing is allowed', () => {
  equal([whoIsIn(), mayAdminister(), mayUse('vision')], [undefined, false, false]);
});

test('mayUse: an admin may do everything', async () => {
  equal(await signedIn('admin'), [true, true, true, true]);
});

test('mayUse: a user may use what belongs to the own tenant', async () => {
  equal(await signedIn('user'), [false, true, false, false]);
});

test('mayUse: a reader may use nothing', async () => {
  equal(await signedIn('read-only'), [false, false, false, false]);
});

test('learnWho: a new token that is not known forgets the user before', async () => {
  await signedIn('admin');
  server.answer = () => json(500, {});
  await learnWho().catch(() => {});
  equal([whoIsIn(), mayAdminister()], [undefined, false]);
});
