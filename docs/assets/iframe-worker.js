// Chromium starts no worker for a page that lies on a disk. This one runs the worker's program in a hidden frame, so that
// the search works without a server.
const InFrame = class extends EventTarget {
  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inner = frame.contentWindow;
    this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const program = frame.contentDocument.createElement("script");
    program.src = address;
    this.ready = new Promise((resolve) => (program.onload = resolve));
    frame.contentDocument.body.append(program);
  }

  async postMessage(data) {
    await this.ready;
    this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
  }

  terminate() {
    this.inner.frameElement.remove();
  }
};

if (location.protocol === "file:") window.Worker = InFrame;
