// SPDX-License-Identifier: Apache-2.0
// Elements as plain values, and what makes a part of the page equal to them. What stays the same is
// left alone, so that focus, selection and open menus outlive an update.

const TEXT = '#text';
const SVG = 'http://www.w3.org/2000/svg';
const made = new WeakMap();

/**
 * An element to be. Properties: `key` tells siblings apart, `onevent` are listeners, `style` is an
 * object of CSS properties, `value` and `checked` are what a control begins with; all others are
 * attributes, `false`, `null` and `undefined` meaning none.
 */
export function h(tag, properties, ...children) {
  return { tag, properties: properties ?? {}, children: flat(children) };
}

/** Makes the children of a parent equal to the wanted ones. */
export function patch(parent, ...wanted) {
  const list = flat(wanted);
  const keys = new Set(list.map(keyOf).filter((key) => key !== undefined));
  const keyed = new Map();
  for (const node of [...parent.childNodes]) {
    const key = keyOf(made.get(node));
    if (key !== undefined && !keys.has(key)) {
      node.remove();
    } else if (key !== undefined) {
      keyed.set(key, node);
    }
  }
  let at = parent.firstChild;
  for (const value of list) {
    const key = keyOf(value);
    const old = key === undefined ? at : keyed.get(key);
    const node = old && fits(old, value) ? old : create(value, parent);
    if (node === at) {
      at = at.nextSibling;
    } else {
      place(parent, node, at);
    }
    update(node, value);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function flat(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === 'object' ? child : { tag: TEXT, text: String(child) }));
}

function keyOf(value) {
  return value?.properties?.key;
}

function fits(node, value) {
  const was = made.get(node);
  return was !== undefined && was.tag === value.tag && keyOf(was) === keyOf(value);
}

/** What is in a drawing is of the drawing. */
function create(value, parent) {
  if (value.tag === TEXT) {
    return document.createTextNode(value.text);
  }
  return value.tag === 'svg' || parent.namespaceURI === SVG
    ? document.createElementNS(SVG, value.tag)
    : document.createElement(value.tag);
}

/** A node that is moved without being taken out keeps the focus. */
function place(parent, node, before) {
  if (node.parentNode === parent && parent.moveBefore) {
    parent.moveBefore(node, before);
  } else {
    parent.insertBefore(node, before);
  }
}

function update(node, value) {
  const was = made.get(node);
  made.set(node, value);
  if (value.tag === TEXT) {
    if (node.data !== value.text) {
      node.data = value.text;
    }
    return;
  }
  const before = was?.properties ?? {};
  for (const name of Object.keys(before)) {
    if (!(name in value.properties)) {
      set(node, name, undefined, before[name]);
    }
  }
  for (const [name, wanted] of Object.entries(value.properties)) {
    set(node, name, wanted, before[name]);
  }
  patch(node, value.children);
}

function set(node, name, wanted, before) {
  if (name === 'key') {
    return;
  }
  if (name === 'style') {
    for (const [property, text] of Object.entries(wanted ?? {})) {
      if (before?.[property] !== text) {
        node.style.setProperty(property, text);
      }
    }
  } else if (name.startsWith('on')) {
    node[name] = wanted ?? null;
  } else if (wanted === before) {
    return;
  } else if (name === 'value' || name === 'checked') {
    node[name] = wanted ?? '';
  } else if (wanted === undefined || wanted === null || wanted === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, wanted === true ? '' : wanted);
  }
}
