// What a page carries packed: its data, and the library that draws charts.
const PACKED = (() => {
  async function inflate(id) {
    const text = atob(document.getElementById(id).textContent.trim());
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  function unpack(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const start = Math.ceil((4 + length) / 8) * 8;
    const kinds = { f8: Float64Array, f4: Float32Array, i4: Int32Array };
    const array = (place) => {
      const size = place.shape.reduce((a, b) => a * b, 1);
      const flat = new kinds[place.$](buffer, start + place.at, size);
      if (place.shape.length === 1) return flat;
      const [rows, columns] = place.shape;
      return Array.from({ length: rows }, (_, i) => flat.subarray(i * columns, (i + 1) * columns));
    };
    const revive = (_, value) => (value !== null && typeof value === "object" && "$" in value ? array(value) : value);
    return JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)), revive);
  }

  const readData = async () => unpack(await inflate("packed-data"));

  async function loadLibrary() {
    document.head.append(LOOK.element("script", new TextDecoder().decode(await inflate("packed-library"))));
  }

  return { readData, loadLibrary };
})();
