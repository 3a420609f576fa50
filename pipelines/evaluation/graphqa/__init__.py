"""The GraphQA benchmark: ExplaGraphs, scene graphs and WebQSP."""
