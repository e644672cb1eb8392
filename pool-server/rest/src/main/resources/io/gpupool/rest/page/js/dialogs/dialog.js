// SPDX-License-Identifier: Apache-2.0
// Modal dialogs. The browser keeps the focus within, and gives it back afterwards.

import { h, patch } from '../dom.js';

let opened = 0;

/**
 * Opens a dialog with the content that `draw` returns, and calls `onClose` once it is closed.
 *
 * @param {!page.DialogOptions} options
 * @return {!page.Dialog}
 */
export function open({ title, draw, onClose, wide }) {
  const dialog = /** @type {!HTMLDialogElement} */ (document.createElement('dialog'));
  const titleId = `dialog-${++opened}`;
  dialog.setAttribute('aria-labelledby', titleId);
  dialog.classList.toggle('wide', wide === true);
  const handle = {
    close: () => dialog.close(),
    redraw: () => patch(dialog, h('h2', { id: titleId }, title), draw(handle)),
    isOpen: () => dialog.open,
  };
  dialog.addEventListener('close', () => {
    dialog.remove();
    onClose?.();
  });
  document.body.append(dialog);
  handle.redraw();
  dialog.showModal();
  return handle;
}

/**
 * Opens a dialog with a form. If `submit` throws, the dialog stays and shows the error. `draw`
 * returns the fields; it is given the form once that exists.
 *
 * @param {!page.FormOptions} options
 * @return {!page.Dialog}
 */
export function openForm({ title, draw, label, danger, submit, onClose, cancel = 'Cancel', wide }) {
  let busy = false;
  let fault = '';
  /** @type {(!HTMLFormElement|undefined)} */
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
          onsubmit: async (/** !Event */ event) => {
            event.preventDefault();
            if (busy) {
              return;
            }
            busy = true;
            fault = '';
            redraw();
            try {
              await submit(new FormData(/** @type {!HTMLFormElement} */ (event.target)));
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
  form = /** @type {!HTMLFormElement} */ (document.querySelector('dialog:last-of-type form'));
  handle.redraw();
  return handle;
}

/**
 * Asks the user to confirm an action; `consequence` says what it does.
 *
 * @param {!page.ConfirmOptions} options
 * @return {void}
 */
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
