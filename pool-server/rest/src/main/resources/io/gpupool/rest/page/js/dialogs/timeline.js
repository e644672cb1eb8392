// SPDX-License-Identifier: Apache-2.0
// The history of one lease: lines of the audit log, and events that this page has seen.

const WORDS = { 'lease.grant': 'granted to', 'lease.update': 'changed to', 'lease.end': 'ended:' };

/**
 * Returns the events of a lease itself, the latest first.
 *
 * @param {!Array<!page.Event>} events
 * @param {string} id
 * @return {!Array<!page.Event>}
 */
export function eventsOf(events, id) {
  return events.filter((event) => event.kind === 'leases' && event.id === id);
}

/**
 * Returns the history of a lease, the latest first. Its grant and end are in the audit log: events
 * of them are left out if there are lines of it.
 *
 * @param {!Array<!page.Event>} events
 * @param {!Array<!rest.AuditLine>} lines
 * @param {string} id
 * @return {!Array<!page.Moment>}
 */
export function timeline(events, lines, id) {
  const seen = [
    ...eventsOf(events, id).filter(
      ({ text }) => lines.length === 0 || !/ (was granted|ended)\b/.test(text),
    ),
    ...events.filter(({ kind, text }) => kind === 'sessions' && text.split(/[ ,:]/).includes(id)),
  ];
  return [
    ...lines.map((line) => ({ key: line.id, at: line.atMillis, text: sentence(line) })),
    ...seen.map((event) => ({ key: String(event.number), at: event.at, text: event.text })),
  ].sort((a, b) => b.at - a.at);
}

/**
 * @param {!rest.AuditLine} line
 * @return {string}
 */
function sentence(line) {
  return `${WORDS[line.action] ?? line.action} ${line.detail}, by ${line.actor}`;
}
