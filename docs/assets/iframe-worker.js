// A page that was opened as a file may not start a worker: its search then runs in a hidden frame.
if (location.protocol === "file:") {
  const load = (frame, url) =>
    new Promise((done, failed) => {
      const script = frame.document.createElement("script");
      Object.assign(script, { src: url, onload: done, onerror: failed });
      frame.document.body.append(script);
    });

  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const element = document.createElement("iframe");
      element.hidden = true;
      document.body.append(element);
      const frame = (this.frame = element.contentWindow);
      frame.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      frame.importScripts = (...urls) =>
        urls.reduce((before, next) => before.then(() => load(frame, next)), Promise.resolve());
      this.loaded = load(frame, url);
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
