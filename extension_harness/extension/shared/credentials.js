// Telling two sets of credentials apart without keeping either: a short mark of a server's
// address and a token, from which the token cannot be had. One mark in four thousand
// million is another's, too.

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * FNV-1a over the UTF-16 units of both, in 32 bits.
 *
 * @param {{endpoint: string | null, bindingToken: string}} credentials
 * @returns {string} eight hexadecimal digits
 */
export function markOf({ endpoint, bindingToken }) {
  const text = `${endpoint ?? ""}\n${bindingToken}`;
  let mark = FNV_OFFSET;
  for (let index = 0; index < text.length; index += 1) {
    mark = Math.imul(mark ^ text.charCodeAt(index), FNV_PRIME);
  }
  return (mark >>> 0).toString(16).padStart(8, "0");
}
