// Draws the plan that is in the page.
function drawPage() {
  const plan = JSON.parse(document.getElementById('plan').textContent);
  const parts = [drawHead(plan), plan.met ? null : drawWays(plan), drawRanking(plan), drawRule(plan), drawMemory(plan), drawNodes(plan), drawSteps(plan),
    drawPareto(plan), drawRejected(plan), plan.met ? drawWays(plan) : null, drawAssumptions(plan)];
  document.getElementById('page').replaceChildren(...parts.filter(Boolean));
}
drawPage();
