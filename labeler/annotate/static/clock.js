// How long a pair was looked at: only while the page is in sight.

export class Clock {
  constructor(seconds = 0) {
    this.before = seconds * 1000;
    this.since = document.hidden ? null : performance.now();
  }

  get seconds() {
    const running = this.since === null ? 0 : performance.now() - this.since;
    return Math.round((this.before + running) / 100) / 10;
  }

  follow() {
    this.before = this.seconds * 1000;
    this.since = document.hidden ? null : performance.now();
  }
}
