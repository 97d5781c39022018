// Makes elements. Whatever a model, a task or a user wrote becomes a text node: there is no way from here to markup,
// to an inline handler or to an inline style.

const svgNames = 'http://www.w3.org/2000/svg';
const properties = new Set(['value', 'checked', 'disabled', 'hidden', 'open', 'selected', 'readOnly', 'tabIndex']);

function fill(node, options, children) {
  for (const [key, value] of Object.entries(options ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'on')
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (key === 'text')
      node.textContent = value;
    else if (key === 'class')
      node.setAttribute('class', value);
    else if (properties.has(key))
      node[key] = value;
    else if (/^on|^style$|^srcdoc$/i.test(key))
      throw new Error(`${key} is not set from here`);
    else
      node.setAttribute(key, value === true ? '' : value);
  }
  append(node, children);
  return node;
}

export function append(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function el(tag, options, ...children) {
  return fill(document.createElement(tag), options, children);
}

export function svg(tag, options, ...children) {
  return fill(document.createElementNS(svgNames, tag), options, children);
}

export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

// Makes the content again only when `key` is another one: what has the focus, or is being clicked, stays.
const shownKeys = new WeakMap();
export function replaceIfNew(node, key, make) {
  if (shownKeys.get(node) === key) return;
  shownKeys.set(node, key);
  replace(node, make());
}

// A length that data decide. Scripts may set single properties under the page's content security policy.
export function setVariable(node, name, value) {
  node.style.setProperty(name, String(value));
  return node;
}

let counter = 0;
export function uniqueId(prefix) {
  return `${prefix}-${++counter}`;
}

// Calls `work` once in the next frame, however often it is asked for in between.
export function onceAFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

// Says something to screen readers without moving the focus.
export function announce(text) {
  const place = document.getElementById('announcer');
  if (place !== null) place.textContent = text;
}
