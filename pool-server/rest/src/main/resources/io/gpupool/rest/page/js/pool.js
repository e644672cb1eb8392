// SPDX-License-Identifier: Apache-2.0
// What the page knows of the pool: all things by kind and id, and what became of them of late.

import { tell } from './history.js';

const KINDS = ['servers', 'gpus', 'partitions', 'leases', 'queue', 'sessions', 'tenants'];
const KEPT_EVENTS = 400;
const SETTLE_MILLIS = 1500;

/** Things as they were last told; `seenAt` says when, so that ages can go on. */
export class Pool {
  connection = { live: false, reason: 'connecting', againAt: 0 };
  asOf = 0;
  events = [];
  #things = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));
  #stream = 0;
  #isSettled = false;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  all(kind) {
    return [...this.#things[kind].values()].map((thing) => thing.resource);
  }

  one(kind, id) {
    return this.#things[kind].get(id)?.resource;
  }

  /** How long it has been so now: what the server said, and the time since. */
  age(kind, id, field) {
    const thing = this.#things[kind].get(id);
    return thing ? thing.resource[field] + Date.now() - thing.seenAt : 0;
  }

  setConnection(connection) {
    this.connection = connection;
    this.#onChange();
  }

  /** A new stream tells all there is; what it does not tell is gone. */
  begin() {
    const stream = ++this.#stream;
    this.#isSettled = false;
    setTimeout(() => {
      if (stream === this.#stream) {
        this.#settle();
      }
    }, SETTLE_MILLIS);
  }

  #settle() {
    this.#isSettled = true;
    for (const things of Object.values(this.#things)) {
      for (const [id, thing] of things) {
        if (thing.stream !== this.#stream) {
          things.delete(id);
        }
      }
    }
    this.#onChange();
  }

  apply({ kind, change, id, resource }) {
    const things = this.#things[kind];
    if (!things) {
      return;
    }
    const before = things.get(id)?.resource;
    this.asOf = Date.now();
    if (change === 'removed') {
      things.delete(id);
    } else {
      things.set(id, { resource, seenAt: this.asOf, stream: this.#stream });
    }
    // All that a stream begins with is no news.
    if (this.#isSettled || before) {
      this.#remember(kind, change, id, before, resource);
    }
    this.#onChange();
  }

  #remember(kind, change, id, before, resource) {
    const text = tell(kind, change, before, resource);
    if (text) {
      this.events.unshift({
        number: (this.events[0]?.number ?? 0) + 1,
        at: this.asOf,
        kind,
        id,
        text,
      });
      this.events.length = Math.min(this.events.length, KEPT_EVENTS);
    }
  }
}
