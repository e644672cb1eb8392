// SPDX-License-Identifier: Apache-2.0
// Modal dialogs. The browser keeps the focus within, and gives it back afterwards.

import { h, patch } from '../dom.js';

let opened = 0;

/**
 * Opens one whose content `draw` returns, being given `close` and `redraw`. `onClose` is called
 * once it is closed, however that is.
 */
export function open({ title, draw, onClose, wide }) {
  const dialog = document.createElement('dialog');
  const titleId = `dialog-${++opened}`;
  dialog.setAttribute('aria-labelledby', titleId);
  dialog.classList.toggle('wide', wide === true);
  const handle = {
    close: () => dialog.close(),
    redraw: () => patch(dialog, h('h2', { id: titleId }, title), draw(handle)),
    isOpen: () => dialog.open,
  };
  dialog.onclose = () => {
    dialog.remove();
    onClose?.();
  };
  document.body.append(dialog);
  handle.redraw();
  dialog.showModal();
  return handle;
}

/**
 * A dialog around a form. `submit` is given the form's data and may throw: the dialog then stays,
 * and says why. `draw` returns the fields, being given the form's element once there is one.
 */
export function openForm({ title, draw, label, danger, submit, onClose, cancel = 'Cancel', wide }) {
  let busy = false;
  let fault = '';
  let form;
  const handle = open({
    title,
    onClose,
    wide,
    draw: ({ close, redraw }) =>
      h(
        'form',
        {
          oninput: redraw,
          onsubmit: async (event) => {
            event.preventDefault();
            if (busy) {
              return;
            }
            busy = true;
            fault = '';
            redraw();
            try {
              await submit(new FormData(event.target));
              close();
            } catch (error) {
              fault = error.message;
            } finally {
              busy = false;
              redraw();
            }
          },
        },
        draw(form),
        h('p', { class: 'fault', role: 'alert' }, fault),
        h(
          'div',
          { class: 'buttons' },
          cancel && h('button', { type: 'button', onclick: close }, cancel),
          h(
            'button',
            {
              type: 'submit',
              class: danger ? 'danger solid' : 'primary',
              'aria-disabled': busy && 'true',
            },
            busy ? 'One moment …' : label,
          ),
        ),
      ),
  });
  form = document.querySelector('dialog:last-of-type form');
  handle.redraw();
  return handle;
}

/** Asks whether something is really to be done; `consequence` says what it means. */
export function confirm({ title, consequence, label, keep, submit }) {
  openForm({
    title,
    label,
    cancel: keep,
    danger: true,
    submit,
    draw: () => h('p', null, consequence),
  });
}
