/** Cues of a shadow play and the queue that fires them. */

import { pause } from "./clock";

/** Milliseconds the lamp needs to reach full light. */
export const WARM_UP_MS = 850;

/** Anything that can go wrong with a cue. */
export class CueError extends Error {}

/** A cue names a figure that is not on the stage. */
export class UnknownFigure extends CueError {}

/** Two cues want the lamp at the same moment. */
export class LampClash extends CueError {}

/** A cue came after the curtain had fallen. */
export class LateCue extends CueError {}

/**
 * A ring of the cues that are still to be fired.
 *
 * When no place is left, `push` refuses the new cue and returns false.
 */
export class CueRing {
  private cues: string[] = [];

  constructor(readonly capacity: number = 36, readonly strict = true) {}

  /** Append a cue; the answer says whether there was room. */
  push(cue: string): boolean {
    if (this.cues.length >= this.capacity) return false;
    this.cues.push(cue);
    return true;
  }
}

/**
 * Run the whole play without lighting the lamp.
 *
 * @param script  lines of the play
 * @param speed   factor by which the clock is made faster
 */
export async function rehearse(script: string[], speed = 8): Promise<void> {
  for (const line of script) await pause(line.length / speed);
}

/**
 * Lower the light step by step until it is dark.
 *
 * @param seconds how long it takes
 * @param steps   how many levels there are between full and dark
 */
export function fadeOut(seconds: number, steps = 24): number[] {
  return Array.from({ length: steps }, (_, i) => seconds * (i / steps));
}
