// SPDX-License-Identifier: Apache-2.0
// Labelled controls of forms.

import { h } from '../dom.js';

/** A text or number field that begins with `value`; its further properties are the input's. */
export function field({ label, name, hint, unit, value, ...input }) {
  const id = `field-${name}`;
  return h(
    'div',
    { class: 'field', key: name },
    h('label', { for: id }, label),
    h(
      'span',
      { class: 'control' },
      h('input', {
        id,
        name,
        defaultValue: value,
        ...input,
        'aria-describedby': hint && `${id}-hint`,
      }),
      unit && h('span', { class: 'unit' }, unit),
    ),
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  );
}

/** A box to be checked, with what it means beside it. */
export function box({ label, name, hint, ...input }) {
  const id = `field-${name}-${input.value ?? 'on'}`;
  return h(
    'div',
    { class: 'box', key: id },
    h('input', { type: 'checkbox', id, name, ...input, 'aria-describedby': hint && `${id}-hint` }),
    h('label', { for: id }, label),
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  );
}

/** One of several: options are [value, text]. */
export function choice({ label, name, options, value, hint, ...select }) {
  const id = `field-${name}`;
  return h(
    'div',
    { class: 'field', key: name },
    h('label', { for: id }, label),
    h(
      'span',
      { class: 'control' },
      h(
        'select',
        { id, name, ...select, 'aria-describedby': hint && `${id}-hint` },
        options.map(([key, text]) =>
          h('option', { key, value: key, selected: key === value }, text),
        ),
      ),
    ),
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  );
}
