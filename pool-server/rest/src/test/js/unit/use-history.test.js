// SPDX-License-Identifier: Apache-2.0
import { clock, json, server } from './browser.js';
import { equal, test } from './harness.js';
import { historyOf } from '../../../main/resources/io/gpupool/rest/page/js/use-history.js';

function drawn(gpu, window) {
  let times = 0;
  server.requests.length = 0;
  return {
    draw: () => historyOf(gpu, window, () => times++),
    redraws: () => times,
    requests: () => server.requests.map(({ url }) => url),
  };
}

test('historyOf: asks once, and redraws with the answer', async () => {
  server.answer = () => json(200, { samples: [] });
  const view = drawn({ uuid: 'GPU-1' }, 'hour');
  equal(view.draw().history, undefined);
  view.draw();
  await clock.pass(0);
  equal(view.requests(), ['/api/v1/gpus/GPU-1/history?window=hour']);
  equal([view.redraws(), view.draw().history], [1, { samples: [] }]);
});

test('historyOf: asks again when the answer is old', async () => {
  server.answer = () => json(200, { samples: [] });
  const view = drawn({ uuid: 'GPU-2' }, 'hour');
  view.draw();
  await clock.pass(9_999);
  view.draw();
  equal(view.requests().length, 1);
  await clock.pass(1);
  view.draw();
  equal(view.requests().length, 2);
});

test('historyOf: a day is asked for less often, and apart from the hour', async () => {
  server.answer = () => json(200, { samples: [] });
  const view = drawn({ uuid: 'GPU-3' }, 'day');
  view.draw();
  await clock.pass(30_000);
  view.draw();
  historyOf({ uuid: 'GPU-3' }, 'hour', () => {});
  equal(
    view.requests().map((url) => url.split('=')[1]),
    ['day', 'hour'],
  );
});

test('historyOf: an error is kept beside what was known', async () => {
  server.answer = () => json(200, { samples: [1] });
  const view = drawn({ uuid: 'GPU-4' }, 'hour');
  view.draw();
  await clock.pass(10_000);
  server.answer = () => json(404, { detail: 'not on this server' });
  view.draw();
  await clock.pass(0);
  equal([view.draw().fault, view.draw().history], ['not on this server', { samples: [1] }]);
  server.answer = () => json(200, { samples: [2] });
  await clock.pass(60_000);
  view.draw();
  await clock.pass(0);
  equal([view.draw().fault, view.draw().history], [undefined, { samples: [2] }]);
});
