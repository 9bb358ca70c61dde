// h("td", {class: "num"}, "text", child...) makes an element; text is never markup.
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((c) => c !== null && c !== undefined));
  return element;
}
