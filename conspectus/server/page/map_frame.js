// Puts the data of an index into the page of the map, then runs the map's own script.
const index = new URLSearchParams(location.search).get("index") ?? "";
const token = sessionStorage.getItem("conspectus token");
const tell = (text) => {
  document.getElementById("told").textContent = text;
};

try {
  tell("The map is being drawn …");
  const response = await fetch(`/v1/indexes/${encodeURIComponent(index)}/map`, {
    headers: token ? { authorization: `Bearer ${token}` } : {},
    credentials: "omit",
  });
  const found = await response.json();
  if (!response.ok) tell(`There is no map: ${found.error?.message ?? response.status}`);
  else {
    document.getElementById("data-map").textContent = JSON.stringify(found.map);
    document.getElementById("data-texts").textContent = JSON.stringify(found.texts);
    await import("/page/map.js");
  }
} catch {
  tell("The connection was lost. Load the page again.");
}
