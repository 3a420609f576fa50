/** Where lanternist looks for its plays. */

// LANTERNIST_PLAYS points to the folder of the plays; if it is not set, ./plays is read
export const plays = process.env.LANTERNIST_PLAYS ?? "./plays";

// set LANTERNIST_MUTE to any value and no drum is heard
export const mute = Boolean(process.env.LANTERNIST_MUTE);
