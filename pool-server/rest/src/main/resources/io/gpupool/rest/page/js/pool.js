// SPDX-License-Identifier: Apache-2.0
// The page's copy of the pool: all resources by kind and id, and the latest events.

import { tell } from './history.js';

const KINDS = ['servers', 'gpus', 'partitions', 'leases', 'queue', 'sessions', 'tenants'];
const KEPT_EVENTS = 400;
const SETTLE_MILLIS = 1500;

/** The resources that the event stream has told of. */
export class Pool {
  /** @param {function(): void} onChange */
  constructor(onChange) {
    /** @type {!page.Connection} */
    this.connection = { live: false, reason: 'connecting', againAt: 0 };
    /** @type {number} */
    this.asOf = 0;
    /** @type {!Array<!page.Event>} */
    this.events = [];
    /** @private @const {!Map<string, !Map<string, !page.Seen>>} */
    this.things = new Map(KINDS.map((kind) => [kind, new Map()]));
    /** @private {number} */
    this.stream = 0;
    /** @private {boolean} */
    this.isSettled = false;
    /** @private @const {function(): void} */
    this.onChange = onChange;
  }

  /** @return {!Array<!rest.Server>} */
  servers() {
    return this.all('servers');
  }

  /** @return {!Array<!rest.Gpu>} */
  gpus() {
    return this.all('gpus');
  }

  /** @return {!Array<!rest.Partition>} */
  partitions() {
    return this.all('partitions');
  }

  /** @return {!Array<!rest.Lease>} */
  leases() {
    return this.all('leases');
  }

  /** @return {!Array<!rest.QueuedRequest>} */
  queue() {
    return this.all('queue');
  }

  /** @return {!Array<!rest.Session>} */
  sessions() {
    return this.all('sessions');
  }

  /** @return {!Array<!rest.Tenant>} */
  tenants() {
    return this.all('tenants');
  }

  /**
   * @param {string} id
   * @return {(!rest.Lease|undefined)}
   */
  lease(id) {
    return this.things.get('leases').get(id)?.resource;
  }

  /**
   * @param {string} kind
   * @return {!Array<?>}
   * @private
   */
  all(kind) {
    return [...this.things.get(kind).values()].map((thing) => thing.resource);
  }

  /**
   * Returns a field that grows with time: the value from the server, and the time since.
   *
   * @param {string} kind
   * @param {string} id
   * @param {string} field
   * @return {number}
   */
  age(kind, id, field) {
    const thing = this.things.get(kind).get(id);
    return thing ? thing.resource[field] + Date.now() - thing.seenAt : 0;
  }

  /**
   * @param {!page.Connection} connection
   * @return {void}
   */
  setConnection(connection) {
    this.connection = connection;
    this.onChange();
  }

  /**
   * Begins a new stream, which tells of every resource; those that it does not tell of are gone.
   *
   * @return {void}
   */
  begin() {
    const stream = ++this.stream;
    this.isSettled = false;
    setTimeout(() => {
      if (stream === this.stream) {
        this.settle();
      }
    }, SETTLE_MILLIS);
  }

  /**
   * @return {void}
   * @private
   */
  settle() {
    this.isSettled = true;
    for (const things of this.things.values()) {
      things.forEach((thing, id) => {
        if (thing.stream !== this.stream) {
          things.delete(id);
        }
      });
    }
    this.onChange();
  }

  /**
   * @param {!rest.Change} change
   * @return {void}
   */
  apply({ kind, change, id, resource }) {
    const things = this.things.get(kind);
    if (!things) {
      return;
    }
    const before = things.get(id)?.resource;
    this.asOf = Date.now();
    if (change === 'removed') {
      things.delete(id);
    } else {
      things.set(id, { resource, seenAt: this.asOf, stream: this.stream });
    }
    // The resources with which a stream begins are no news.
    if (this.isSettled || before) {
      this.remember(kind, id, tell(kind, change, before, resource));
    }
    this.onChange();
  }

  /**
   * @param {string} kind
   * @param {string} id
   * @param {(string|boolean|undefined)} text
   * @return {void}
   * @private
   */
  remember(kind, id, text) {
    if (text) {
      this.events.unshift({
        number: (this.events[0]?.number ?? 0) + 1,
        at: this.asOf,
        kind,
        id,
        text: String(text),
      });
      this.events.length = Math.min(this.events.length, KEPT_EVENTS);
    }
  }
}
