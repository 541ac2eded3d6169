// How a host in TypeScript tells what came of its steps: one line of JSON for each.

export const say = (verdict, name, why = "") => console.log(JSON.stringify({ verdict, name, why }));
/** Fails a step. */
export const must = (holds, why) => {
  if (!holds) throw new Error(typeof why === "string" ? why : JSON.stringify(why).slice(0, 400));
};
/** What the blocks of a result say. */
export const texts = (blocks) => blocks.map((block) => block.text ?? "").join(" ");

/** One step, told as what came of it. */
export async function check(name, step) {
  try {
    await step();
    say("ok", name);
  } catch (error) {
    say("failed", name, String(error.stack ?? error).slice(0, 900));
  }
}
